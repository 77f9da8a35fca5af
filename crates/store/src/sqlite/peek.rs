//! The schema of an archive, without opening it, which would bring it up to date.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::connect::connect_read_only;
use super::fault::Fault;
use super::schema::{APPLICATION_ID, SchemaState, age};
use crate::ArchiveError;

/// The schema of the archive in the file at `path`; `None` where there is no file. Nothing is changed.
///
/// # Errors
/// When it cannot be read, or is a database of another program.
pub fn schema_of(path: &Path) -> Result<Option<i64>, ArchiveError> {
    if !path.exists() {
        return Ok(None);
    }
    let look = |connection: Connection| age(&connection, APPLICATION_ID).fault(path);
    let shared = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).fault(path).and_then(look);
    let state = match shared {
        Err(error) if error.is_of_writing() => connect_read_only(path).and_then(look)?,
        state => state?,
    };
    match state {
        SchemaState::Foreign => Err(ArchiveError::Foreign { path: path.to_owned() }),
        SchemaState::Schema(schema) => Ok(Some(schema)),
    }
}
