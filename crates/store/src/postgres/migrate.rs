//! The tables, and how an older archive comes up to date.

use super::link::PostgresLink;
use crate::store::link::{Hold, Link};
use crate::store::transaction::alone;
use crate::store::value::{Row, values};
use crate::{ArchiveError, Upgraded};

/// What turns schema N into N + 1, from the empty one on. Only ever add to the end.
const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// The newest schema that this version knows.
#[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "there are a handful")]
pub(super) const NEWEST: i32 = MIGRATIONS.len() as i32;

/// The oldest server that has all that is asked for, as it numbers itself.
const OLDEST_SERVER: i64 = 120_000;

/// What the schema of an archive holds.
enum SchemaState {
    /// Nothing, or it is not there.
    Empty,
    /// The tables of another program.
    Foreign,
    /// An archive of this version.
    Schema(i32),
}

/// Whether there is an archive.
pub(super) fn is_there(db: &PostgresLink) -> Result<bool, ArchiveError> {
    Ok(matches!(age(db)?, SchemaState::Schema(_)))
}

/// Checks that the schema of the server holds an archive that this version knows, and makes it where there is
/// none. An older one stays as it is, for other people's programs may not know the newer one.
pub(super) fn prepare(db: &PostgresLink) -> Result<(), ArchiveError> {
    match known(db)? {
        Some(NEWEST) => Ok(()),
        Some(found) => Err(ArchiveError::OlderOnServer { place: db.server.place.clone(), found, known: NEWEST }),
        None => upgrade(db),
    }
}

/// Brings the archive up to date; `None` where there is none.
pub(super) fn upgrade_existing(db: &PostgresLink) -> Result<Option<Upgraded>, ArchiveError> {
    let Some(found) = known(db)? else { return Ok(None) };
    if found == NEWEST {
        return Ok(Some(Upgraded::default()));
    }
    upgrade(db)?;
    Ok(Some(Upgraded { schema: Some((found, NEWEST)), grants: grants(db)? }))
}

/// The rights that those who may use the archive need for what is new in it. Where nobody but its owner may, those of a
/// role called `team`.
fn grants(db: &PostgresLink) -> Result<Vec<String>, ArchiveError> {
    const ROLES: &str = "SELECT DISTINCT CASE grantee WHEN 'PUBLIC' THEN grantee ELSE quote_ident(grantee) END AS role
        FROM information_schema.role_table_grants
        WHERE table_schema = $1 AND table_name = 'ctxc_archive' AND grantee <> grantor ORDER BY role";
    let schema = &db.server.url.schema;
    let roles = (db as &dyn Link).all(ROLES, &values![schema], Row::get::<String>)?;
    let roles = if roles.is_empty() { "team".to_owned() } else { roles.join(", ") };
    Ok(vec![
        format!("GRANT USAGE ON SCHEMA {schema} TO {roles};"),
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {roles};"),
        format!("GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {roles};"),
    ])
}

/// The schema of the archive, no newer than this version knows; `None` where there is none yet.
fn known(db: &PostgresLink) -> Result<Option<i32>, ArchiveError> {
    let place = db.server.place.clone();
    match age(db)? {
        SchemaState::Empty => Ok(None),
        SchemaState::Foreign => Err(ArchiveError::ForeignSchema { place }),
        SchemaState::Schema(found) if found > NEWEST => {
            Err(ArchiveError::NewerOnServer { place, found, known: NEWEST })
        }
        SchemaState::Schema(found) => Ok(Some(found)),
    }
}

/// Makes the archive, or brings it up to date, in one transaction. When another process does so at the same time, this waits
/// and then finds nothing left to do.
fn upgrade(db: &PostgresLink) -> Result<(), ArchiveError> {
    alone(db, Hold::Tables, true, || migrate(db))
}

fn migrate(db: &PostgresLink) -> Result<(), ArchiveError> {
    let schema = &db.server.url.schema;
    let from = known(db)?.unwrap_or(0);
    if from == 0 {
        // Only where there is none, for who may not make one may still fill it.
        let make =
            format!("DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema}; END IF; END $$");
        db.attempt(|server, session| server.batch(session, &make))?.map_err(|error| {
            let said = error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned());
            let detail = format!(
                "the server says: {said}; let the owner of the database run `CREATE SCHEMA {schema} AUTHORIZATION {}`",
                db.server.url.user
            );
            ArchiveError::Unprepared { place: db.server.place.clone(), detail }
        })?;
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        db.batch(migration)?;
    }
    if from < NEWEST {
        db.batch(&format!("DELETE FROM ctxc_archive; INSERT INTO ctxc_archive VALUES ({NEWEST})"))?;
    }
    Ok(())
}

fn age(db: &PostgresLink) -> Result<SchemaState, ArchiveError> {
    let sql = "SELECT current_setting('server_version_num')::integer, current_setting('server_encoding'),
            to_regclass($1::text || '.ctxc_archive') IS NOT NULL,
            EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1::text))";
    let schema = &db.server.url.schema;
    let database: &dyn Link = db;
    let known: Option<(i64, String, bool, bool)> =
        database.one(sql, &values![schema], |row| Ok((row.get()?, row.get()?, row.get()?, row.get()?)))?;
    let silent = || db.damaged("the server says nothing of itself".to_owned());
    let (version, encoding, is_archive, is_used) = known.ok_or_else(silent)?;
    let unprepared = |detail| Err(ArchiveError::Unprepared { place: db.server.place.clone(), detail });
    if version < OLDEST_SERVER {
        return unprepared(format!("the server is PostgreSQL {}, and 12 is the oldest that will do", version / 10_000));
    }
    if encoding != "UTF8" {
        return unprepared(format!("the database is in the encoding {encoding}; make one with `ENCODING 'UTF8'`"));
    }
    if !is_archive {
        return Ok(if is_used { SchemaState::Foreign } else { SchemaState::Empty });
    }
    let version = database.one("SELECT max(version) FROM ctxc_archive", &[], Row::get::<Option<i64>>)?;
    let version = version.flatten().and_then(|version| i32::try_from(version).ok());
    Ok(version.map_or(SchemaState::Foreign, SchemaState::Schema))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ServerUrl;
    use crate::postgres::session::Server;

    /// Makes an archive as a version of this program did that knew no more than `newest`.
    pub(in crate::postgres) fn make(url: &ServerUrl, newest: usize) {
        let server = Server::new(url).unwrap();
        let mut session = server.connect().unwrap();
        server.batch(&mut session, &format!("CREATE SCHEMA {}", url.schema)).unwrap();
        for migration in MIGRATIONS.iter().take(newest) {
            server.batch(&mut session, migration).unwrap();
        }
        server.batch(&mut session, &format!("INSERT INTO ctxc_archive VALUES ({newest})")).unwrap();
    }
}
