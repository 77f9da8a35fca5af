//! Where a transcript comes from: the operation that made it, and those before.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use super::ApplyError;
use crate::archive::{Archive, Operation, lineage};
use crate::text::Digest;

/// How a file stands to the operation that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is what was written.
    Exact,
    /// It starts with what was written, and a client has added to it.
    Grown,
    /// What was written there has been changed.
    Changed,
}

/// Where a transcript comes from.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// The operations that led to it, newest first; there is one at least.
    pub lineage: Vec<Operation>,
    /// How it stands to the newest.
    pub standing: Standing,
}

/// The operation that made the file at `path`: as it is now, or as it was before a client appended to it. Those that
/// are listed under one of `sessions`, or wrote to `path`, are tried for the latter.
///
/// # Errors
/// When the archive has none, or the file cannot be read.
pub fn operation_of(
    file: &mut File,
    path: &Path,
    sessions: &[String],
    archive: &dyn Archive,
) -> Result<Operation, ApplyError> {
    let made = made_by(file, &candidates(sessions, Some(path), archive)?, archive)?;
    made.map(|(operation, _)| operation).ok_or_else(|| ApplyError::NoOperation(path.to_owned()))
}

/// Where the file at `path` comes from; `None` where the archive does not know it. A file that was changed by somebody
/// else is taken for what the newest operation wrote there.
///
/// # Errors
/// When the file or the archive cannot be read.
pub fn provenance(
    file: &mut File,
    path: Option<&Path>,
    sessions: &[String],
    archive: &dyn Archive,
) -> Result<Option<Provenance>, ApplyError> {
    let candidates = candidates(sessions, path, archive)?;
    let made = match made_by(file, &candidates, archive)? {
        Some(made) => Some(made),
        None => wrote_there(path, candidates).map(|operation| (operation, Standing::Changed)),
    };
    let Some((newest, standing)) = made else { return Ok(None) };
    Ok(Some(Provenance { lineage: lineage(archive, &newest).map_err(ApplyError::Archive)?, standing }))
}

/// The operations of `sessions`, and those that wrote to `path`: one that went to a file of its own is listed under the
/// session that it came from. The shortest output comes first.
fn candidates(sessions: &[String], path: Option<&Path>, archive: &dyn Archive) -> Result<Vec<Operation>, ApplyError> {
    let mut candidates = Vec::new();
    if let Some(path) = path {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        candidates.extend(archive.operations_at(&whole).map_err(ApplyError::Archive)?);
    }
    for session in sessions {
        candidates.extend(archive.operations(session).map_err(ApplyError::Archive)?);
    }
    candidates.sort_by(|a, b| (a.output.bytes, &a.id).cmp(&(b.output.bytes, &b.id)));
    candidates.dedup_by(|a, b| a.id == b.id);
    Ok(candidates)
}

fn made_by(
    file: &mut File,
    candidates: &[Operation],
    archive: &dyn Archive,
) -> Result<Option<(Operation, Standing)>, ApplyError> {
    let len = file.metadata().map_err(ApplyError::Read)?.len();
    let mut hasher = blake3::Hasher::new();
    let mut n_bytes = 0;
    let mut grown = None;
    file.rewind().map_err(ApplyError::Read)?;
    for operation in candidates.iter().filter(|operation| operation.output.bytes < len) {
        n_bytes +=
            io::copy(&mut (&*file).take(operation.output.bytes - n_bytes), &mut hasher).map_err(ApplyError::Read)?;
        // Of several that fit the longest was written last.
        if Digest::from(hasher.finalize()) == operation.output.digest && operation.output.bytes > 0 {
            grown = Some(operation);
        }
    }
    io::copy(file, &mut hasher).map_err(ApplyError::Read)?;
    let whole = archive.operation_by_output(Digest::from(hasher.finalize())).map_err(ApplyError::Archive)?;
    let grown = grown.map(|operation| (operation.clone(), Standing::Grown));
    Ok(whole.map(|operation| (operation, Standing::Exact)).or(grown))
}

/// The newest of `candidates` that wrote to `path`; of all of them where there is none. A file that none of them wrote
/// is one that they read.
fn wrote_there(path: Option<&Path>, candidates: Vec<Operation>) -> Option<Operation> {
    let path = path.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let is_there = |operation: &Operation| path.is_none() || operation.output.path == path;
    candidates.into_iter().filter(is_there).max_by(|a, b| a.id.cmp(&b.id))
}
