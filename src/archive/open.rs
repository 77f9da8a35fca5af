//! Opening an archive by its URL.

use super::memory::Memory;
use super::sqlite::Sqlite;
use super::{Archive, ArchiveError, ArchiveUrl};

/// The archive at `url`, made where there is none yet.
///
/// # Errors
/// When it cannot be made or opened, or is no archive of this version.
pub fn open(url: &ArchiveUrl) -> Result<Box<dyn Archive>, ArchiveError> {
    match url {
        ArchiveUrl::Memory => Ok(Box::new(Memory::default())),
        ArchiveUrl::Sqlite(path) => Ok(Box::new(Sqlite::open(path)?)),
    }
}
