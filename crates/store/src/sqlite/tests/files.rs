//! The file of an archive, and what is in it.

use std::fs;

use super::place::{count, folder};
use crate::Archive;
use crate::sqlite::{Sqlite, connect, lines, objects, operations, originals};
use crate::suite::samples::{operation, recipe, removed};

#[test]
fn a_02_the_same_digest_is_one_body() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    for uuid in ["u", "v", "u"] {
        archive.put_original(&removed(b"line", uuid)).unwrap();
        archive.put_original(&removed(b"line", "w")).unwrap();
        archive.commit().unwrap();
    }
    assert_eq!((count(&path, "body"), count(&path, "original")), (1, 6));
}

#[test]
fn a_02_every_look_up_goes_by_an_index() {
    let folder = folder();
    let archive = Sqlite::open(&folder.path().join("a.sqlite")).unwrap();
    for (sql, index) in [
        (lines::BODY, "body_by_digest"),
        (lines::BODY_ID, "body_by_digest"),
        (lines::BODY_BY_ID, ""),
        (objects::BY_KEY, "object_by_key"),
        (objects::BY_GROUP, "object_by_group"),
        (objects::BY_KIND, "object_by_kind"),
        (originals::BY_UUID, "original_by_uuid"),
        (originals::BY_LINE, "original_by_line"),
        (operations::BY_OUTPUT, "operation_by_output"),
        (operations::BY_SESSION, "operation_by_session"),
        (operations::BY_ID, "sqlite_autoindex_operation_1"),
        (operations::BY_PREFIX, "sqlite_autoindex_operation_1"),
        (operations::BEFORE_BY_OUTPUT, "operation_by_output"),
        (operations::BY_PATH, "operation_by_path"),
        (operations::BEFORE_BY_PATH, "operation_by_path"),
        (originals::DIGESTS, "body_by_digest"),
        (originals::BY_OPERATION, ""),
        (operations::RECIPE, ""),
    ] {
        let plan = archive.query_plan(sql).unwrap();
        assert!(index.is_empty() || plan[0].contains(&format!("USING INDEX {index} ")), "{sql}: {plan:?}");
        assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{sql}: {plan:?}");
    }
}

#[test]
fn a_03_a_commit_is_synced_to_the_disk() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    drop(Sqlite::open(&path).unwrap());
    let connection = connect::connect(&path).unwrap();
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
    // 2 is FULL, which in WAL mode syncs the log at each commit; 1, NORMAL, does not.
    assert_eq!((mode.as_str(), synchronous), ("wal", 2));
}

#[test]
fn a_03_what_is_committed_survives_and_what_is_not_does_not() {
    let folder = folder();
    let path = folder.path().join("a.sqlite");
    let mut archive = Sqlite::open(&path).unwrap();
    let kept = archive.put_original(&removed(b"kept", "u")).unwrap();
    archive.put_operation(&operation("1", b"output"), &recipe()).unwrap();
    archive.commit().unwrap();
    let lost = archive.put_original(&removed(b"lost", "u")).unwrap();
    archive.put_operation(&operation("2", b"output"), &recipe()).unwrap();
    drop(archive);

    let archive = Sqlite::open(&path).unwrap();
    assert_eq!(archive.line(kept).unwrap().as_deref(), Some(b"kept".as_slice()));
    assert_eq!(archive.operations("session").unwrap(), [operation("1", b"output")]);
    assert_eq!(archive.line(lost).unwrap(), None);
    assert_eq!(archive.originals_of("u").unwrap().len(), 1);
}

#[test]
fn a_02_names_that_sqlite_takes_for_something_else_are_files() {
    let folder = folder();
    for name in [":memory:", "file:a?mode=memory", "a b#%41.sqlite", "会.sqlite"] {
        // Windows has no such names.
        if cfg!(windows) && name.contains([':', '?']) {
            continue;
        }
        let path = folder.path().join(name);
        let mut archive = Sqlite::open(&path).unwrap();
        archive.put_original(&removed(b"line", "u")).unwrap();
        archive.commit().unwrap();
        drop(archive);
        assert_eq!(count(&path, "body"), 1, "{name}");
    }
}

#[test]
fn a_02_making_an_archive_leaves_no_other_file() {
    let folder = folder();
    drop(Sqlite::open(&folder.path().join("a.sqlite")).unwrap());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.sqlite"]);
}
