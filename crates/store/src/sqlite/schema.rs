//! The tables, and how an older archive comes up to date.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// What turns schema N into N + 1, from the empty database on. Only ever add to the end.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// The mark of an archive in the header of its file: `ctxc` in ASCII.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"ctxc");

/// The newest schema that this version knows of an archive in a file.
#[expect(clippy::cast_possible_wrap, reason = "there are a handful")]
pub const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Whose database it is and how old.
pub(super) enum SchemaState {
    /// Another program's.
    Foreign,
    /// Ours, of this schema; 0 for an empty database.
    Schema(i64),
}

/// Reads the marks of the database, of which `ours` is in the header of ours.
pub(super) fn age(connection: &Connection, ours: i32) -> rusqlite::Result<SchemaState> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == i64::from(ours) {
        return Ok(SchemaState::Schema(version));
    }
    let n_tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if (application, version, n_tables) == (0, 0, 0) { SchemaState::Schema(0) } else { SchemaState::Foreign })
}

/// Brings the database to the newest schema, in one transaction. When another process does so at the same
/// time, this waits and then finds nothing left to do.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let SchemaState::Schema(from) = age(connection, APPLICATION_ID)? else { return Ok(()) };
    for migration in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        connection.execute_batch(migration)?;
    }
    if from < NEWEST {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", NEWEST)?;
    }
    transaction.commit()
}
