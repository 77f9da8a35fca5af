//! The source back from the result: the recipe of the operation that made it, carried out (P-05).

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

use super::ApplyError;
use crate::archive::{Archive, Operation, RecipeStep};
use crate::text::Digest;
use crate::transcript::LineReader;
use crate::transcript::edit::{Splice, render};
use crate::transcript::scan::Scan;

/// The operation that made the file at `path` as it is now.
///
/// # Errors
/// When the archive has none, or the file cannot be read.
pub fn operation_of(file: &mut File, path: &Path, archive: &dyn Archive) -> Result<Operation, ApplyError> {
    let mut hasher = blake3::Hasher::new();
    file.rewind().map_err(ApplyError::Read)?;
    io::copy(file, &mut hasher).map_err(ApplyError::Read)?;
    let digest = Digest::from(hasher.finalize());
    let operation = archive.operation_by_output(digest).map_err(ApplyError::Archive)?;
    operation.ok_or_else(|| ApplyError::NoOperation(path.to_owned()))
}

/// Writes the source of `operation` to `out`, from the result in `file` and the originals in `archive`.
///
/// # Errors
/// When an original is missing, or what comes out is not the source: then `out` must not be used.
pub fn restore(
    file: &mut File,
    operation: &Operation,
    archive: &dyn Archive,
    out: &mut dyn Write,
) -> Result<(), ApplyError> {
    file.rewind().map_err(ApplyError::Read)?;
    let mut lines = LineReader::new(&*file);
    let mut out = Hashing { out, hasher: blake3::Hasher::new() };
    let mut n_written = 0;
    for step in &operation.recipe {
        match step {
            RecipeStep::Skip { lines: n_lines } => {
                for _ in 0..*n_lines {
                    lines.next_line().map_err(ApplyError::Read)?;
                }
            }
            RecipeStep::Copy { lines: n_lines, session } => {
                let id = session.and_then(|at| operation.session_ids.get(at as usize));
                for _ in 0..*n_lines {
                    let line = lines.next_line().map_err(ApplyError::Read)?.ok_or(ApplyError::NotTheSource)?;
                    match id {
                        Some(id) => out.write(&with_session(line, id)?)?,
                        None => out.write(line)?,
                    }
                }
                n_written += n_lines;
            }
            RecipeStep::Original(digest) => {
                let line = archive.line(*digest).map_err(ApplyError::Archive)?;
                out.write(&line.ok_or(ApplyError::LostOriginal(n_written + 1))?)?;
                n_written += 1;
            }
        }
    }
    out.out.flush().map_err(ApplyError::WriteResult)?;
    if Digest::from(out.hasher.finalize()) == operation.source.digest { Ok(()) } else { Err(ApplyError::NotTheSource) }
}

/// `line` with `id`, as it stood between its quotes, for its session.
fn with_session(line: &[u8], id: &str) -> Result<Vec<u8>, ApplyError> {
    let Some(span) = Scan::of(line).session_id else { return Ok(line.to_vec()) };
    let splice = Splice::new(span, [b"\"", id.as_bytes(), b"\""].concat());
    render(line, &[splice]).map_err(|overlap| ApplyError::Edit { line: 0, overlap })
}

struct Hashing<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), ApplyError> {
        self.hasher.update(bytes);
        self.out.write_all(bytes).map_err(ApplyError::WriteResult)
    }
}
