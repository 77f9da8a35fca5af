//! The tables of an archive on a server.

use super::link::PostgresLink;
use crate::ArchiveError;
use crate::store::link::{DatabaseLink, LockScope};
use crate::store::transaction::run_in_transaction;
use crate::store::value::{Row, values};

/// The version of the schema. Archives of other versions are refused.
const SCHEMA: i32 = 4;

/// The oldest supported version of the server, as `server_version_num`.
const OLDEST_SERVER: i64 = 120_000;

/// The content of a schema.
enum ServerSchemaState {
    /// An empty or missing schema.
    Empty,
    /// The tables of another program.
    Foreign,
    /// An archive, with the version of its schema.
    Schema(i32),
}

/// Whether there is an archive.
pub(super) fn is_there(db: &PostgresLink) -> Result<bool, ArchiveError> {
    Ok(matches!(schema_state(db)?, ServerSchemaState::Schema(_)))
}

/// Creates the tables of an archive if the schema is empty. If another process does so at the same time, this waits for it
/// and then does nothing.
///
/// # Errors
/// When the schema holds an archive of another version, or tables of another program.
pub(super) fn prepare_tables(db: &PostgresLink) -> Result<(), ArchiveError> {
    if has_tables(db)? { Ok(()) } else { run_in_transaction(db, LockScope::Tables, true, || create_tables(db)) }
}

/// Whether there is an archive of this version; `false` for an empty schema.
fn has_tables(db: &PostgresLink) -> Result<bool, ArchiveError> {
    let place = db.server.url_without_password.clone();
    match schema_state(db)? {
        ServerSchemaState::Empty => Ok(false),
        ServerSchemaState::Foreign => Err(ArchiveError::ForeignSchema { place }),
        ServerSchemaState::Schema(SCHEMA) => Ok(true),
        ServerSchemaState::Schema(found) => Err(ArchiveError::OtherSchemaOnServer { place, found, known: SCHEMA }),
    }
}

fn create_tables(db: &PostgresLink) -> Result<(), ArchiveError> {
    if has_tables(db)? {
        return Ok(());
    }
    let schema = &db.server.url.schema;
    // A user without the right to create a schema may use an existing one.
    let make =
        format!("DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema}; END IF; END $$");
    db.run_unconverted(|server, session| server.execute_batch(session, &make))?.map_err(|error| {
        let said = error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned());
        let detail = format!(
            "the server says: {said}; let the owner of the database run `CREATE SCHEMA {schema} AUTHORIZATION {}`",
            db.server.url.user
        );
        ArchiveError::Unprepared { place: db.server.url_without_password.clone(), detail }
    })?;
    db.run_batch(include_str!("schema.sql"))?;
    db.run_batch(&format!("INSERT INTO ctxc_archive VALUES ({SCHEMA})"))
}

fn schema_state(db: &PostgresLink) -> Result<ServerSchemaState, ArchiveError> {
    let sql = "SELECT current_setting('server_version_num')::integer, current_setting('server_encoding'),
            to_regclass($1::text || '.ctxc_archive') IS NOT NULL,
            EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1::text))";
    let schema = &db.server.url.schema;
    let database: &dyn DatabaseLink = db;
    let known: Option<(i64, String, bool, bool)> = database.first_value(sql, &values![schema], |row| {
        Ok((row.next_value()?, row.next_value()?, row.next_value()?, row.next_value()?))
    })?;
    let silent = || db.damage_error("the server says nothing of itself".to_owned());
    let (version, encoding, is_archive, is_used) = known.ok_or_else(silent)?;
    let unprepared = |detail| Err(ArchiveError::Unprepared { place: db.server.url_without_password.clone(), detail });
    if version < OLDEST_SERVER {
        return unprepared(format!("the server is PostgreSQL {}, and 12 is the oldest that will do", version / 10_000));
    }
    if encoding != "UTF8" {
        return unprepared(format!("the database is in the encoding {encoding}; make one with `ENCODING 'UTF8'`"));
    }
    if !is_archive {
        return Ok(if is_used { ServerSchemaState::Foreign } else { ServerSchemaState::Empty });
    }
    let version = database.first_value("SELECT max(version) FROM ctxc_archive", &[], Row::next_value::<Option<i64>>)?;
    let version = version.flatten().and_then(|version| i32::try_from(version).ok());
    Ok(version.map_or(ServerSchemaState::Foreign, ServerSchemaState::Schema))
}
