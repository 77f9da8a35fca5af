//! Opens the store on a `SQLite` database.

use std::path::Path;
use std::time::Duration;

use super::connect;
use super::link::SqliteLink;
use crate::ArchiveError;
use crate::store::Store;

/// Opens the archive in the file at `path`, and creates it if there is none. Statements wait at most `wait` for another
/// process to release the file.
///
/// # Errors
/// When it cannot be created or opened, or is not an archive of this version.
pub(crate) fn open_within(path: &Path, wait: Duration) -> Result<Store, ArchiveError> {
    // Absolute, since SQLite gives names such as `:memory:` a special meaning.
    let path = std::path::absolute(path).map_err(|source| ArchiveError::Create { path: path.to_owned(), source })?;
    let reader = connect::open_within(&path, wait)?;
    let link = |connection| Box::new(SqliteLink::new(&path, connection).with_wait(wait));
    Ok(Store::new(link(Some(reader)), link(None)))
}

/// Like [`open_within`], with the default waiting time.
#[cfg(test)]
pub(crate) fn open(path: &Path) -> Result<Store, ArchiveError> {
    open_within(path, crate::open::WAIT)
}

/// An archive in memory, which is lost when it is dropped.
///
/// # Errors
/// When the database cannot be created.
pub(crate) fn in_memory() -> Result<Store, ArchiveError> {
    let (path, reader) = connect::open_in_memory()?;
    Ok(Store::new(Box::new(SqliteLink::new(&path, Some(reader))), Box::new(SqliteLink::new(&path, None))))
}
