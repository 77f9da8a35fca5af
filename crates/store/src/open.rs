//! Opening an archive by its URL.

use std::time::Duration;

#[cfg(feature = "postgres")]
use super::postgres;
use super::{Archive, ArchiveError, ArchiveUrl, sqlite};

/// The default time that a statement waits for another process to release a file.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Opens the archive at `url`, and creates it if there is none.
///
/// # Errors
/// When it cannot be created or opened, or is not an archive of this version.
pub fn open(url: &ArchiveUrl) -> Result<Box<dyn Archive>, ArchiveError> {
    open_within(url, WAIT)
}

/// Like [`open`], but a statement on an archive in a file waits at most `wait` for another process to release it.
///
/// # Errors
/// Those of [`open`].
pub fn open_within(url: &ArchiveUrl, wait: Duration) -> Result<Box<dyn Archive>, ArchiveError> {
    match url {
        ArchiveUrl::Memory => Ok(Box::new(sqlite::in_memory()?)),
        ArchiveUrl::Sqlite(path) => Ok(Box::new(sqlite::open_within(path, wait)?)),
        #[cfg(feature = "postgres")]
        ArchiveUrl::Postgres(url) => Ok(Box::new(postgres::open(url)?)),
        #[cfg(not(feature = "postgres"))]
        ArchiveUrl::Postgres(_) => Err(ArchiveError::UnknownScheme { scheme: "postgres".to_owned() }),
    }
}

/// Opens the archive at `url`; `None` if there is none.
///
/// # Errors
/// When it cannot be looked up or opened, or is not an archive of this version.
pub fn open_existing(url: &ArchiveUrl) -> Result<Option<Box<dyn Archive>>, ArchiveError> {
    let is_there = match url {
        ArchiveUrl::Memory => true,
        ArchiveUrl::Sqlite(path) => path.exists(),
        #[cfg(feature = "postgres")]
        ArchiveUrl::Postgres(url) => postgres::is_there(url)?,
        #[cfg(not(feature = "postgres"))]
        ArchiveUrl::Postgres(_) => true,
    };
    if is_there { open(url).map(Some) } else { Ok(None) }
}

/// The size of the archive at `url` in bytes: of its file, or of its tables on a server; `None` for an archive in memory or a
/// missing one.
///
/// # Errors
/// When a server cannot be reached or refuses.
pub fn stored_bytes(url: &ArchiveUrl) -> Result<Option<u64>, ArchiveError> {
    match url {
        ArchiveUrl::Sqlite(path) => Ok(path.metadata().ok().map(|metadata| metadata.len())),
        #[cfg(feature = "postgres")]
        ArchiveUrl::Postgres(url) => postgres::stored_bytes(url).map(Some),
        _ => Ok(None),
    }
}
