//! Opening the store on a `SQLite` database.

use std::path::Path;
use std::time::Duration;

use super::connect;
use super::link::SqliteLink;
use crate::ArchiveError;
use crate::store::Store;

/// The archive in the file at `path`, made where there is none yet. Its statements wait for `wait` for another process to let
/// go.
///
/// # Errors
/// When it cannot be made or opened, or is no archive of this version.
pub(crate) fn open_within(path: &Path, wait: Duration) -> Result<Store, ArchiveError> {
    // Absolute, because SQLite takes names such as `:memory:` for something else than a file.
    let path = std::path::absolute(path).map_err(|source| ArchiveError::Create { path: path.to_owned(), source })?;
    let reader = connect::open_within(&path, wait)?;
    let link = |connection| Box::new(SqliteLink::new(&path, connection).waiting(wait));
    Ok(Store::new(link(Some(reader)), link(None)))
}

/// The same, with the usual wait.
#[cfg(test)]
pub(crate) fn open(path: &Path) -> Result<Store, ArchiveError> {
    open_within(path, crate::open::WAIT)
}

/// An archive in memory, gone when it is dropped.
///
/// # Errors
/// When the database cannot be made.
pub(crate) fn in_memory() -> Result<Store, ArchiveError> {
    let (path, reader) = connect::open_in_memory()?;
    Ok(Store::new(Box::new(SqliteLink::new(&path, Some(reader))), Box::new(SqliteLink::new(&path, None))))
}
