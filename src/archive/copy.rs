//! One archive into another.

use std::ops::ControlFlow;

use super::{Archive, ArchiveError, DocumentId, Original, Record, StoredOriginal};

/// How many lines and records are copied before they are committed.
const PORTION: u64 = 1000;

/// What was copied, and what was there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Operations that were copied, with the lines that they took out.
    pub operations: u64,
    /// Notes of lines that were copied, with their lines.
    pub originals: u64,
    /// Records that were copied.
    pub records: u64,
    /// Operations and records that were there already, or newer ones.
    pub present: u64,
}

/// Copies everything that `from` holds and `to` does not; of two records of one key and kind the newer one stays. What is
/// committed stays when it is stopped or fails, and is
/// not copied again. `progress` is told how many of how many operations and records are done, and may end it.
///
/// # Errors
/// When one cannot be read or the other cannot be written; or when both have different operations of one id.
pub fn copy(
    from: &dyn Archive,
    to: &mut dyn Archive,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Copied, ArchiveError> {
    let ids = from.operation_ids()?;
    let names = from.record_names()?;
    let total = (ids.len() + names.len()) as u64;
    let mut copied = Copied::default();
    loose(from, to, from.loose_originals()?, &mut copied)?;
    for id in &ids {
        operation(from, to, id, &mut copied)?;
        if progress(copied.operations + copied.present, total).is_break() {
            return Ok(copied);
        }
    }
    for name in &names {
        record(from, to, *name, &mut copied)?;
        let n_done = copied.operations + copied.records + copied.present;
        if n_done.is_multiple_of(PORTION) {
            to.commit()?;
            if progress(n_done, total).is_break() {
                return Ok(copied);
            }
        }
    }
    to.commit()?;
    Ok(copied)
}

/// Lines of `originals`, as those of which it is not known who took them out.
fn loose(
    from: &dyn Archive,
    to: &mut dyn Archive,
    originals: Vec<StoredOriginal>,
    copied: &mut Copied,
) -> Result<(), ArchiveError> {
    for stored in originals {
        if to.originals_of_line(stored.digest)?.iter().any(|known| known.is_same_line(&stored)) {
            continue;
        }
        line(from, to, &stored, copied)?;
        if copied.originals.is_multiple_of(PORTION) {
            to.commit()?;
        }
    }
    to.commit()
}

fn operation(from: &dyn Archive, to: &mut dyn Archive, id: &str, copied: &mut Copied) -> Result<(), ArchiveError> {
    let Some(operation) = from.operation(id)? else { return Ok(()) };
    let originals = from.originals_by_operation(id)?;
    if to.operation(id)?.is_some_and(|known| known == operation) {
        copied.present += 1;
        // Its lines may have been dropped there since. They come back as nobody's, by which it can be undone again.
        if to.originals_by_operation(id)?.len() < originals.len() {
            loose(from, to, originals, copied)?;
        }
        return Ok(());
    }
    for stored in originals {
        line(from, to, &stored, copied)?;
    }
    to.put_operation(&operation, &from.recipe(id)?.unwrap_or_default())?;
    // One at a time, so that an operation and its lines stay together.
    to.commit()?;
    copied.operations += 1;
    Ok(())
}

fn line(
    from: &dyn Archive,
    to: &mut dyn Archive,
    stored: &StoredOriginal,
    copied: &mut Copied,
) -> Result<(), ArchiveError> {
    let Some(line) = from.line(stored.digest)? else { return Ok(()) };
    to.put_original(&Original { line: &line, uuid: stored.uuid.as_deref(), replaced_by: stored.replaced_by })?;
    copied.originals += 1;
    Ok(())
}

fn record(from: &dyn Archive, to: &mut dyn Archive, name: DocumentId, copied: &mut Copied) -> Result<(), ArchiveError> {
    let DocumentId::Record(kind, key) = name else { return Ok(()) };
    let Some(record) = from.record(kind, key)? else { return Ok(()) };
    // One that has been changed there since is not set back.
    let is_newer = |known: &Record| known.document.time > record.document.time;
    if to.record(kind, key)?.is_some_and(|known| known == record || is_newer(&known)) {
        copied.present += 1;
        return Ok(());
    }
    to.put_record(&record)?;
    copied.records += 1;
    Ok(())
}
