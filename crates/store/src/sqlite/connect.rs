//! A connection to the database of an archive, which is made or brought up to date first.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::{Fault, WAIT_SECONDS};
use super::place;
use super::schema::{APPLICATION_ID, NEWEST, SchemaState, age, migrate};
use crate::ArchiveError;

/// How many statements are held.
const MOST_STATEMENTS: usize = 64;

/// How a database in memory is named, before its number.
const IN_MEMORY: &str = "file:/ctxc-";

/// Makes the database where there is none, checks that it is an archive that this version knows, and brings
/// it up to date. `path` is absolute.
pub(super) fn open(path: &Path) -> Result<Connection, ArchiveError> {
    // `symlink_metadata`: a db that leads nowhere is for SQLite to complain of.
    if path.symlink_metadata().is_err() {
        create(path)?;
    }
    let connection = connect(path)?;
    prepare(&connection, path)?;
    place::tighten(path);
    Ok(connection)
}

/// Makes an archive in memory, which lasts as long as a connection to it; what other connections find it by, and the first
/// connection.
pub(super) fn open_in_memory() -> Result<(PathBuf, Connection), ArchiveError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let path = PathBuf::from(format!("{IN_MEMORY}{}?vfs=memdb", NEXT.fetch_add(1, Ordering::Relaxed)));
    let connection = connect(&path)?;
    prepare(&connection, &path)?;
    Ok((path, connection))
}

/// Whether an archive lies in memory. Files have absolute paths, which do not begin so.
pub(super) fn is_in_memory(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(IN_MEMORY))
}

/// Makes the whole database under another name first, so that no process ever finds half of one.
fn create(path: &Path) -> Result<(), ArchiveError> {
    place::create_folder(path)?;
    let new = place::NewFile::create(path)?;
    let connection = connect(&new.path())?;
    prepare(&connection, path)?;
    // Closing carries the write-ahead log over into the file and removes it.
    connection.close().map_err(|(_, error)| error).fault(path)?;
    new.settle(path)
}

/// A connection with the settings that last as long as it does.
pub(super) fn connect(path: &Path) -> Result<Connection, ArchiveError> {
    // No CREATE flag: SQLite would make the file readable by others.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if is_in_memory(path) {
        flags |= OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI;
    }
    let connection = Connection::open_with_flags(path, flags).fault(path)?;
    connection.set_prepared_statement_cache_capacity(MOST_STATEMENTS);
    let settings = || {
        connection.busy_timeout(Duration::from_secs(WAIT_SECONDS))?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // In WAL mode only FULL syncs the log at each commit.
        connection.pragma_update(None, "synchronous", "FULL")?;
        // A large deposit leaves a large log behind; this gives the space back.
        connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
        // In memory a writer that runs out of cache could not go on, for somebody reads.
        if is_in_memory(path) { connection.pragma_update(None, "cache_spill", false) } else { Ok(()) }
    };
    settings().fault(path)?;
    Ok(connection)
}

fn prepare(connection: &Connection, path: &Path) -> Result<(), ArchiveError> {
    let path_buf = || path.to_owned();
    match age(connection, APPLICATION_ID).fault(path)? {
        SchemaState::Foreign => Err(ArchiveError::Foreign { path: path_buf() }),
        SchemaState::Schema(found) if found > NEWEST => {
            Err(ArchiveError::NewerSchema { path: path_buf(), found, known: NEWEST })
        }
        SchemaState::Schema(NEWEST) => Ok(()),
        SchemaState::Schema(_) => {
            // Both last. Lines lie in packs, each of which leaves half a page empty, and each of some forty trees takes one
            // page at least.
            connection.pragma_update(None, "page_size", 4096).fault(path)?;
            connection.pragma_update(None, "journal_mode", "WAL").fault(path)?;
            migrate(connection).fault(path)
        }
    }
}
