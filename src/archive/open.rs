//! Opening an archive by its URL.

#[cfg(feature = "postgres")]
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::{Archive, ArchiveError, ArchiveUrl};

/// The archive at `url`, made where there is none yet.
///
/// # Errors
/// When it cannot be made or opened, or is no archive of this version.
pub fn open(url: &ArchiveUrl) -> Result<Box<dyn Archive>, ArchiveError> {
    match url {
        ArchiveUrl::Memory => Ok(Box::new(Sqlite::in_memory()?)),
        ArchiveUrl::Sqlite(path) => Ok(Box::new(Sqlite::open(path)?)),
        #[cfg(feature = "postgres")]
        ArchiveUrl::Postgres(url) => Ok(Box::new(Postgres::open(url)?)),
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
        ArchiveUrl::Postgres(url) => Postgres::is_there(url)?,
        #[cfg(not(feature = "postgres"))]
        ArchiveUrl::Postgres(_) => true,
    };
    if is_there { open(url).map(Some) } else { Ok(None) }
}
