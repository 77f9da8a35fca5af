//! The way back through several operations: the source of each is the output of the one before (P-05).

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use super::{ApplyError, restore, unnamed_file};
use crate::archive::{Archive, Operation};
use crate::text::Digest;

/// The operations, newest first, that lead back from the transcript in `file` to the one that ctxc saw first: none where
/// it is that itself. `lineage` has them all; those that are not to be gone back through, because what they started from
/// came up again later, are left out.
///
/// # Errors
/// When the file or the archive cannot be read, or an original is missing.
pub fn way_to_root<'l>(
    file: &mut File,
    lineage: &'l [Operation],
    archive: &dyn Archive,
) -> Result<&'l [Operation], ApplyError> {
    let mut way = lineage;
    for (at, (newer, older)) in lineage.iter().zip(lineage.iter().skip(1)).enumerate() {
        // Found by its path: whether the one really came of the other shows in the bytes.
        if newer.source.digest != older.output.digest {
            let (before, _) = lineage.split_at(at + 1);
            let mut source = unnamed_file()?;
            undo(file, before, archive, &mut source)?;
            if !starts_with(&mut source, older)? {
                way = before;
                break;
            }
        }
    }
    let Some(root) = way.last().map(|operation| operation.source.digest) else { return Ok(way) };
    let is_root = way.first().is_some_and(|newest| newest.output.digest == root);
    let n_steps = way.iter().position(|operation| operation.source.digest == root).map_or(0, |at| at + 1);
    Ok(if is_root { &[] } else { way.get(..n_steps).unwrap_or(way) })
}

/// Writes to `out` what the transcript in `file` was before the last of `way`, which starts with the operation that
/// made it. What a client has added on the way stays behind. Returns how many lines that are.
///
/// # Errors
/// When an original is missing, or what comes out is not what was: then `out` must not be used.
pub fn undo(file: &mut File, way: &[Operation], archive: &dyn Archive, out: &mut dyn Write) -> Result<u64, ApplyError> {
    let Some((last, before)) = way.split_last() else {
        file.rewind().map_err(ApplyError::Read)?;
        io::copy(file, out).map_err(ApplyError::WriteResult)?;
        return Ok(0);
    };
    let mut stage: Option<File> = None;
    for operation in before {
        let mut next = unnamed_file()?;
        restore(stage.as_mut().unwrap_or(file), operation, archive, &mut next)?;
        stage = Some(next);
    }
    restore(stage.as_mut().unwrap_or(file), last, archive, out)
}

/// Whether `file` starts with what `operation` wrote.
fn starts_with(file: &mut File, operation: &Operation) -> Result<bool, ApplyError> {
    let mut hasher = blake3::Hasher::new();
    file.rewind().map_err(ApplyError::Read)?;
    let n_bytes = io::copy(&mut file.take(operation.output.bytes), &mut hasher).map_err(ApplyError::Read)?;
    Ok(n_bytes == operation.output.bytes && Digest::from(hasher.finalize()) == operation.output.digest)
}
