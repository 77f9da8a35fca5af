//! Opening an archive by its URL.

use std::time::Duration;

#[cfg(feature = "postgres")]
use super::postgres;
use super::{Archive, ArchiveError, ArchiveUrl, sqlite};

/// How long a statement waits for another process to let go of a file, where nothing else is asked for.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// The archive at `url`, made where there is none yet.
///
/// # Errors
/// When it cannot be made or opened, or is no archive of this version.
pub fn open(url: &ArchiveUrl) -> Result<Box<dyn Archive>, ArchiveError> {
    open_within(url, WAIT)
}

/// The same, for those who cannot wait: a statement on an archive in a file waits for `wait` for another process to let go.
///
/// # Errors
/// When it cannot be made or opened, or is no archive of this version.
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

/// The archive at `url`; `None` where there is none yet, and none is made.
///
/// # Errors
/// When it cannot be looked for or opened, or is no archive of this version.
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

/// How many bytes the archive at `url` takes up: its file, or its tables on a server; `None` in memory, and where there is
/// none.
///
/// # Errors
/// When a server cannot be reached, or does not say.
pub fn stored_bytes(url: &ArchiveUrl) -> Result<Option<u64>, ArchiveError> {
    match url {
        ArchiveUrl::Sqlite(path) => Ok(path.metadata().ok().map(|metadata| metadata.len())),
        #[cfg(feature = "postgres")]
        ArchiveUrl::Postgres(url) => postgres::stored_bytes(url).map(Some),
        _ => Ok(None),
    }
}
