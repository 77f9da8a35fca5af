//! Archives of older schemas.

use std::path::Path;

use rusqlite::{Connection, params};

use super::place::{count, folder};
use crate::sqlite::open;
use crate::sqlite::schema::{APPLICATION_ID, MIGRATIONS, NEWEST};
use crate::suite::samples::{operation, recipe, removed};
use crate::{Archive, LineId, Operation, Operations, Originals, recipe as recipes};
use ctxc_transcript::text::Digest;

/// An archive of the first schema at `path`, with an original and an operation.
fn first_schema(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch(MIGRATIONS[0]).unwrap();
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    let digest = |bytes: &[u8]| *Digest::of(bytes).as_bytes();
    connection
        .execute(
            "INSERT INTO body (digest, bytes, codec, content) VALUES (?, 4, 0, ?)",
            params![digest(b"line"), b"line"],
        )
        .unwrap();
    connection.execute("INSERT INTO original (body, uuid, replaced_by) VALUES (1, 'u', ?)", [digest(b"new")]).unwrap();
    let was = operation("1", b"output");
    connection
        .execute(
            "INSERT INTO operation VALUES (1, '1', ?, ?, ?, ?, 'a b.jsonl', ?, ?, NULL, ?, 0, ?, ?, ?)",
            params![
                was.verb,
                was.command,
                was.session,
                was.time.to_string(),
                digest(b"source"),
                1_i64 << 40,
                digest(b"output"),
                serde_json::to_string(&was.session_ids).unwrap(),
                recipes::encode(&recipe()).unwrap(),
                was.report,
            ],
        )
        .unwrap();
}

#[test]
fn a_02_an_archive_of_the_first_schema_comes_up_to_date() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    first_schema(&path);
    let mut archive = open(&path).unwrap();
    let was = Operation { cuts: Vec::new(), tokens: None, ..operation("1", b"output") };
    assert_eq!(archive.operations(Operations::Wrote(Digest::of(b"output"))).unwrap(), std::slice::from_ref(&was));
    assert_eq!(archive.recipe("1").unwrap(), Some(recipe()));
    assert_eq!(archive.line(Digest::of(b"line")).unwrap().as_deref(), Some(b"line".as_slice()));
    let found = archive.originals_of("u").unwrap();
    assert_eq!((found.len(), found[0].operation.as_deref()), (1, None), "it was not noted then");
    assert!(archive.originals(Originals::Operation("1")).unwrap().is_empty());

    archive.put_original(&removed(b"line", "u")).unwrap();
    archive.put_operation(&was, &recipe()).unwrap();
    archive.put_operation(&operation("2", b"output"), &recipe()).unwrap();
    archive.commit().unwrap();
    assert_eq!(archive.originals_of("u").unwrap()[0].operation.as_deref(), Some("2"));
    assert_eq!((count(&path, "body"), count(&path, "operation"), count(&path, "recipe")), (1, 2, 2));
    let version: i64 =
        Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, NEWEST);
}

// N-08: within a second, and what is there stays.
#[test]
fn n_08_an_archive_of_the_fourth_schema_comes_up_to_date_within_a_second() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    MIGRATIONS[..4].iter().for_each(|migration| connection.execute_batch(migration).unwrap());
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", 4).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for n in 0..20_000_u32 {
        let line = format!("{n}\n");
        let digest = Digest::of(line.as_bytes());
        let values = params![digest.as_bytes(), line.len().cast_signed(), line.as_bytes()];
        let insert = "INSERT INTO body (digest, bytes, codec, content) VALUES (?, ?, 0, ?)";
        connection.prepare_cached(insert).unwrap().execute(values).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    let started = std::time::Instant::now();
    let mut archive = open(&path).unwrap();
    assert!(started.elapsed().as_secs() < 1, "{:?}", started.elapsed());
    assert_eq!(archive.line(Digest::of(b"19999\n")).unwrap().as_deref(), Some(b"19999\n".as_slice()));
    let lines = [b"19999\n".as_slice(), b"a new line\n"].map(|line| (Digest::of(line), line));
    let ids = archive.put_lines(&lines).unwrap();
    assert_eq!(ids, [LineId(20_000), LineId(20_001)]);
    archive.commit().unwrap();
    assert_eq!(archive.line(Digest::of(b"19999\n")).unwrap().as_deref(), Some(b"19999\n".as_slice()));
}

// N-08, A-03: what stops a migration halfway leaves the archive as it was, and the next one carries it out.
#[test]
fn n_08_a_migration_that_stops_halfway_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    first_schema(&path);
    let schema = || -> (i64, i64) {
        let connection = Connection::open(&path).unwrap();
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        (version, connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap())
    };
    // A table of the newest schema is in the way once those in between have been made.
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE pack (a)").unwrap();
    let was = schema();
    assert!(open(&path).is_err());
    assert_eq!(schema(), was);
    Connection::open(&path).unwrap().execute_batch("DROP TABLE pack").unwrap();
    let archive = open(&path).unwrap();
    assert_eq!(archive.line(Digest::of(b"line")).unwrap().as_deref(), Some(b"line".as_slice()));
    assert_eq!(schema().0, NEWEST);
}
