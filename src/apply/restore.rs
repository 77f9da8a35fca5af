//! The source back from the result: the recipe of the operation that made it, carried out (P-05).

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, Write};

use super::ApplyError;
use super::portions::Portions;
use crate::archive::{Archive, Operation, RecipeStep};
use crate::text::Digest;
use crate::transcript::LineReader;
use crate::transcript::edit::{Splice, render};
use crate::transcript::scan::{Scan, each_field};

/// Writes the source of `operation` to `out`, from the result in `file` and the originals in `archive`. Entries that a
/// client has appended to the result since stay behind it. Returns how many lines they are.
///
/// # Errors
/// When an original is missing, or what comes out is not the source: then `out` must not be used.
pub fn restore(
    file: &mut File,
    operation: &Operation,
    archive: &dyn Archive,
    out: &mut dyn Write,
) -> Result<u64, ApplyError> {
    let recipe = archive.recipe(&operation.id).map_err(ApplyError::Archive)?.ok_or(ApplyError::NotTheSource)?;
    file.rewind().map_err(ApplyError::Read)?;
    let mut lines = LineReader::new(&*file);
    let mut out = Hashing { out, hasher: blake3::Hasher::new(), ends_whole: true };
    let mut n_written = 0;
    let mut originals = originals_of(&recipe, operation, archive)?;
    // Entries of ctxc that the source does not have, with their parents.
    let mut own = HashMap::new();
    for step in &recipe {
        match step {
            RecipeStep::Skip { lines: n_lines } => {
                own.clear();
                for _ in 0..*n_lines {
                    let line = lines.next_line().map_err(ApplyError::Read)?.unwrap_or_default();
                    own.extend(link_of(line));
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
            RecipeStep::Original(_) => {
                let line = originals.next(archive).map_err(ApplyError::Archive)?;
                out.write(&line.ok_or(ApplyError::LostOriginal(n_written + 1))?)?;
                n_written += 1;
                own.clear();
            }
        }
    }
    if Digest::from(out.hasher.finalize()) != operation.source.digest {
        return Err(ApplyError::NotTheSource);
    }
    let mut n_appended = 0;
    while let Some(line) = lines.next_line().map_err(ApplyError::Read)? {
        if !out.ends_whole {
            out.write(b"\n")?;
        }
        let line = relinked(line, &own)?;
        match operation.session_ids.first() {
            Some(id) => out.write(&with_session(&line, id)?)?,
            None => out.write(&line)?,
        }
        n_appended += 1;
    }
    out.out.flush().map_err(ApplyError::WriteResult)?;
    Ok(n_appended)
}

/// The originals that `recipe` names, in its order.
fn originals_of(recipe: &[RecipeStep], operation: &Operation, archive: &dyn Archive) -> Result<Portions, ApplyError> {
    let known = archive.originals_by_operation(&operation.id).map_err(ApplyError::Archive)?;
    let lengths: HashMap<Digest, u64> = known.into_iter().map(|known| (known.digest, known.bytes)).collect();
    Ok(Portions::of(recipe.iter().filter_map(|step| match step {
        RecipeStep::Original(digest) => Some((*digest, lengths.get(digest).copied())),
        RecipeStep::Copy { .. } | RecipeStep::Skip { .. } => None,
    })))
}

/// The uuid of an entry and the value of its `parentUuid`, both as they stand in the line; of a boundary, the entry that
/// it follows.
fn link_of(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let scan = Scan::of(line);
    let mut parent = scan.parent_uuid?.of(line).to_vec();
    if scan.compact_metadata.is_some() {
        each_field(line, |key, value| {
            if key == b"logicalParentUuid" {
                parent = value.of(line).to_vec();
            }
        });
    }
    Some((scan.uuid?.of(line).to_vec(), parent))
}

/// `line` hung behind what the source has, when it hangs on an entry of ctxc.
fn relinked(line: &[u8], own: &HashMap<Vec<u8>, Vec<u8>>) -> Result<Vec<u8>, ApplyError> {
    let Some(span) = Scan::of(line).parent_uuid else { return Ok(line.to_vec()) };
    let Some(mut parent) = own.get(span.of(line)) else { return Ok(line.to_vec()) };
    // A summary hangs on its boundary. No more steps than there are entries, whatever they say.
    for _ in own {
        let Some(above) = own.get(parent) else { break };
        parent = above;
    }
    render(line, &[Splice::new(span, parent.clone())]).map_err(|overlap| ApplyError::Edit { line: 0, overlap })
}

/// `line` with `id`, as it stood between its quotes, for its session.
pub(super) fn with_session(line: &[u8], id: &str) -> Result<Vec<u8>, ApplyError> {
    let Some(span) = Scan::of(line).session_id else { return Ok(line.to_vec()) };
    let splice = Splice::new(span, [b"\"", id.as_bytes(), b"\""].concat());
    render(line, &[splice]).map_err(|overlap| ApplyError::Edit { line: 0, overlap })
}

struct Hashing<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
    /// Whether what was written ends with a line end.
    ends_whole: bool,
}

impl Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), ApplyError> {
        self.hasher.update(bytes);
        self.ends_whole = bytes.ends_with(b"\n");
        self.out.write_all(bytes).map_err(ApplyError::WriteResult)
    }
}
