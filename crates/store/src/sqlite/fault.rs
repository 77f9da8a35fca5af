//! Converts `SQLite`'s errors to those of an archive.

use std::path::Path;

use rusqlite::ffi;

use crate::ArchiveError;

/// Conversion of `SQLite`'s results to those of an archive.
pub(super) trait FileFault<T> {
    /// The result with its error converted to one of the archive at `path`.
    fn or_archive_error(self, path: &Path) -> Result<T, ArchiveError>;
}

impl<T> FileFault<T> for rusqlite::Result<T> {
    fn or_archive_error(self, path: &Path) -> Result<T, ArchiveError> {
        self.map_err(|error| archive_error(path.to_owned(), error))
    }
}

fn archive_error(path: std::path::PathBuf, error: rusqlite::Error) -> ArchiveError {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, SqliteFailure};
    match &error {
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => {
            ArchiveError::Damaged { path, detail: error.to_string() }
        }
        SqliteFailure(failure, _) => match (failure.extended_code & 0xff, failure.extended_code) {
            (ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT, _) => ArchiveError::Damaged { path, detail: error.to_string() },
            (ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED, _) => ArchiveError::Locked { path },
            (ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM, _) => ArchiveError::NotWritable { path },
            // IOERR_SHMSIZE: the shared memory of the processes is a file too, which cannot grow.
            (ffi::SQLITE_FULL, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => ArchiveError::DiskFull { path },
            _ => ArchiveError::Sqlite { path, source: error },
        },
        _ => ArchiveError::Sqlite { path, source: error },
    }
}
