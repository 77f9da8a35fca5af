//! Restoring a source into the place of the result (P-05, S-03).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::carry_out::refuse_unless_at_rest;
use super::write::{Existing, Guard, Staged, back_up};
use super::{ApplyError, restore};
use crate::archive::{Archive, Operation};

/// Puts the source of `operation` into the place of the result at `path`, which is open as `file`. Returns the copy that
/// was made of the result, and how many entries of a client stay behind the source.
///
/// # Errors
/// When the result was written to a moment ago (unless that is to be overlooked) or changes meanwhile, or the source
/// cannot be brought back: then the result is as it was.
pub fn restore_in_place(
    path: &Path,
    file: &mut File,
    operation: &Operation,
    archive: &dyn Archive,
    existing: Existing,
    now: Timestamp,
) -> Result<(PathBuf, u64), ApplyError> {
    let guard = Guard::new(path, file)?;
    if existing == Existing::Respect {
        refuse_unless_at_rest(&guard, Some(path), now)?;
    }
    let permissions = fs::metadata(path).map_err(ApplyError::Read)?.permissions();
    let mut staged = Staged::beside(path, Existing::Overwrite, Some(permissions))?;
    let n_appended = restore(file, operation, archive, staged.file())?;
    staged.sync()?;
    let backup = back_up(staged.target())?;
    guard.verify()?;
    staged.commit(Existing::Overwrite)?;
    Ok((backup, n_appended))
}
