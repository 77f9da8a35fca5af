//! The tables of an archive, and the marks in the header of its file.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The mark of an archive in the header of its file: `ctxc` in ASCII.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"ctxc");

/// The version of the schema. Archives of other versions are refused.
pub const SCHEMA: i64 = 7;

/// The owner of a database.
pub(super) enum SchemaState {
    /// Another program's.
    Foreign,
    /// An archive or index of this schema version; 0 for an empty database.
    Schema(i64),
}

/// Reads the owner and the schema version of a database; `ours` is the application id of our own.
pub(super) fn read_schema_state(connection: &Connection, ours: i32) -> rusqlite::Result<SchemaState> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == i64::from(ours) {
        return Ok(SchemaState::Schema(version));
    }
    let n_tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if (application, version, n_tables) == (0, 0, 0) { SchemaState::Schema(0) } else { SchemaState::Foreign })
}

/// Creates the tables in one transaction. If another process does so at the same time, this waits for it and then does
/// nothing.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let SchemaState::Schema(0) = read_schema_state(connection, APPLICATION_ID)? else { return Ok(()) };
    connection.execute_batch(include_str!("schema.sql"))?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA)?;
    transaction.commit()
}
