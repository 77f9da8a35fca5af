//! One suite for every backend: what a deposit keeps, shows and forgets.

use std::path::PathBuf;

use jiff::Timestamp;

use super::{Archive, ArchiveError, ArchiveUrl, FileRef, Operation, Original, RecipeStep, open};
use crate::text::Digest;

/// Runs `check` on an empty archive of each backend.
fn on_each_backend(check: fn(&mut dyn Archive)) {
    check(open(&ArchiveUrl::Memory).unwrap().as_mut());
    let folder = tempfile::tempdir().unwrap();
    check(open(&ArchiveUrl::Sqlite(folder.path().join("archive.sqlite"))).unwrap().as_mut());
}

/// An original that nothing replaced.
pub(super) fn removed<'a>(line: &'a [u8], uuid: &'a str) -> Original<'a> {
    Original { line, uuid: Some(uuid), replaced_by: None }
}

fn replaced<'a>(line: &'a [u8], uuid: &'a str, by: &[u8]) -> Original<'a> {
    Original { line, uuid: Some(uuid), replaced_by: Some(Digest::of(by)) }
}

/// An operation with something in every field.
pub(super) fn operation(id: &str, output: &[u8]) -> Operation {
    Operation {
        id: id.to_owned(),
        verb: "prune".to_owned(),
        command: "ctxc prune 'a b.jsonl' --rules hash".to_owned(),
        session: "session".to_owned(),
        time: "2026-01-02T03:04:05.123456789Z".parse::<Timestamp>().unwrap(),
        source: FileRef { path: Some(PathBuf::from("a b.jsonl")), digest: Digest::of(b"source"), bytes: 1 << 40 },
        output: FileRef { path: None, digest: Digest::of(output), bytes: 0 },
        session_ids: vec!["old".to_owned(), "quote\" and 会".to_owned()],
        recipe: vec![
            RecipeStep::Copy { lines: 3, session: None },
            RecipeStep::Original(Digest::of(b"a")),
            RecipeStep::Original(Digest::of(b"b")),
            RecipeStep::Skip { lines: 1 },
            RecipeStep::Copy { lines: 7, session: Some(1) },
        ],
        report: Some(r#"{"schema":1}"#.to_owned()),
    }
}

// A-02, T-01: any bytes, and any way to end.
#[test]
fn a_02_a_line_comes_back_byte_for_byte() {
    on_each_backend(|archive| {
        let long: Vec<u8> = (0..12_u32 << 20).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
        let repeated = b"{\"a\":1}".repeat(10_000);
        let lines: [&[u8]; 8] =
            [b"", b"\n", b"{}\r\n", b"no end", b"\xff\xfe\0\0\x80\n", b"\xef\xbb\xbf{}\n", &long, &repeated];
        for line in lines {
            assert_eq!(archive.put_original(&removed(line, "u")).unwrap(), Digest::of(line));
        }
        archive.commit().unwrap();
        for line in lines {
            let kept = archive.line(Digest::of(line)).unwrap();
            assert!(kept.as_deref() == Some(line), "a line of {} bytes", line.len());
        }
        assert_eq!(archive.line(Digest::of(b"another")).unwrap(), None);
    });
}

#[test]
fn a_02_originals_are_found_by_uuid_newest_first() {
    on_each_backend(|archive| {
        archive.put_original(&replaced(b"one\n", "u", b"two\n")).unwrap();
        archive.put_original(&removed(b"other\n", "v")).unwrap();
        archive.commit().unwrap();
        archive.put_original(&replaced(b"two\n", "u", b"three\n")).unwrap();
        archive.put_original(&Original { line: b"no uuid\n", uuid: None, replaced_by: None }).unwrap();
        archive.commit().unwrap();

        let found = archive.originals_of("u").unwrap();
        let digests: Vec<_> = found.iter().map(|original| original.digest).collect();
        assert_eq!(digests, [Digest::of(b"two\n"), Digest::of(b"one\n")]);
        assert_eq!(found[0].bytes, 4);
        assert_eq!(found[0].uuid.as_deref(), Some("u"));
        assert_eq!(found[0].replaced_by, Some(Digest::of(b"three\n")));
        assert_eq!(archive.originals_of("v").unwrap()[0].replaced_by, None);
        assert!(archive.originals_of("").unwrap().is_empty());
    });
}

// P-05: back through several operations, step by step.
#[test]
fn a_02_what_a_line_replaced_is_found_by_its_digest() {
    on_each_backend(|archive| {
        let replaced_by = |archive: &dyn Archive, line: &[u8]| {
            archive.replaced_by(Digest::of(line)).unwrap().map(|original| original.digest)
        };
        archive.put_original(&replaced(b"one", "u", b"two")).unwrap();
        archive.commit().unwrap();
        archive.put_original(&replaced(b"two", "u", b"three")).unwrap();
        archive.commit().unwrap();
        assert_eq!(replaced_by(archive, b"three"), Some(Digest::of(b"two")));
        assert_eq!(replaced_by(archive, b"two"), Some(Digest::of(b"one")));
        assert_eq!(replaced_by(archive, b"one"), None);

        archive.put_original(&replaced(b"uno", "u", b"two")).unwrap();
        archive.commit().unwrap();
        assert_eq!(replaced_by(archive, b"two"), Some(Digest::of(b"uno")), "the newest wins");
    });
}

#[test]
fn a_02_the_same_original_again_is_one_record_and_the_newest() {
    on_each_backend(|archive| {
        let put = |archive: &mut dyn Archive, line: &[u8]| {
            archive.put_original(&replaced(line, "u", b"new")).unwrap();
            archive.commit().unwrap();
        };
        put(archive, b"one");
        put(archive, b"two");
        put(archive, b"one");
        let digests: Vec<_> = archive.originals_of("u").unwrap().iter().map(|original| original.digest).collect();
        assert_eq!(digests, [Digest::of(b"one"), Digest::of(b"two")]);
        assert_eq!(archive.replaced_by(Digest::of(b"new")).unwrap().unwrap().digest, Digest::of(b"one"));

        archive.put_original(&removed(b"one", "u")).unwrap();
        archive.put_original(&removed(b"one", "u")).unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.originals_of("u").unwrap().len(), 3, "removed is something else than replaced");
    });
}

#[test]
fn a_02_an_operation_comes_back_whole() {
    on_each_backend(|archive| {
        let full = operation("1", b"output");
        let bare = Operation { recipe: Vec::new(), session_ids: Vec::new(), report: None, ..operation("2", b"") };
        archive.put_operation(&full).unwrap();
        archive.put_operation(&bare).unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.operation_by_output(Digest::of(b"output")).unwrap(), Some(full.clone()));
        assert_eq!(archive.operations("session").unwrap(), [full, bare]);
        assert!(archive.operations("another").unwrap().is_empty());
        assert_eq!(archive.operation_by_output(Digest::of(b"source")).unwrap(), None);
    });
}

#[test]
fn a_02_of_two_operations_with_one_output_the_newest_is_found() {
    on_each_backend(|archive| {
        // The later put is the newer one, whatever the ids and the clocks say.
        for id in ["z", "a"] {
            archive.put_operation(&operation(id, b"output")).unwrap();
            archive.commit().unwrap();
        }
        assert_eq!(archive.operation_by_output(Digest::of(b"output")).unwrap().unwrap().id, "a");
    });
}

#[test]
fn a_02_an_operation_is_recorded_once_and_its_id_is_its_own() {
    on_each_backend(|archive| {
        let first = operation("1", b"output");
        archive.put_operation(&first).unwrap();
        archive.put_operation(&first).unwrap();
        archive.commit().unwrap();
        archive.put_operation(&first).unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.operations("session").unwrap(), [first]);

        let error = archive.put_operation(&operation("1", b"something else")).unwrap_err();
        assert!(matches!(error, ArchiveError::DuplicateOperation { .. }), "{error}");
    });
}

#[test]
fn a_03_nothing_of_a_deposit_is_seen_before_the_commit() {
    on_each_backend(|archive| {
        let line = archive.put_original(&replaced(b"one", "u", b"two")).unwrap();
        archive.put_operation(&operation("1", b"output")).unwrap();
        assert_eq!(archive.line(line).unwrap(), None);
        assert_eq!(archive.originals_of("u").unwrap(), []);
        assert_eq!(archive.replaced_by(Digest::of(b"two")).unwrap(), None);
        assert_eq!(archive.operation_by_output(Digest::of(b"output")).unwrap(), None);
        archive.commit().unwrap();
        assert_eq!(archive.line(line).unwrap().as_deref(), Some(b"one".as_slice()));
        assert_eq!(archive.operations("session").unwrap().len(), 1);
    });
}

#[test]
fn a_03_a_rollback_forgets_the_deposit_and_nothing_else() {
    on_each_backend(|archive| {
        let kept = archive.put_original(&removed(b"kept", "u")).unwrap();
        archive.commit().unwrap();
        let forgotten = archive.put_original(&removed(b"forgotten", "u")).unwrap();
        archive.put_original(&removed(b"kept", "u")).unwrap();
        archive.put_operation(&operation("1", b"output")).unwrap();
        archive.rollback().unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.line(forgotten).unwrap(), None);
        assert!(archive.line(kept).unwrap().is_some());
        assert_eq!(archive.originals_of("u").unwrap().len(), 1);
        assert_eq!(archive.operations("session").unwrap(), []);

        archive.put_original(&removed(b"forgotten", "u")).unwrap();
        archive.commit().unwrap();
        assert!(archive.line(forgotten).unwrap().is_some(), "it can be put again");
    });
}

#[test]
fn a_03_a_deposit_whose_part_failed_cannot_be_committed() {
    on_each_backend(|archive| {
        archive.put_operation(&operation("1", b"output")).unwrap();
        archive.commit().unwrap();
        let line = archive.put_original(&removed(b"line", "u")).unwrap();
        archive.put_operation(&operation("1", b"something else")).unwrap_err();
        assert!(matches!(archive.commit(), Err(ArchiveError::BrokenDeposit)));
        assert!(matches!(archive.put_original(&removed(b"more", "u")), Err(ArchiveError::BrokenDeposit)));
        assert!(matches!(archive.put_operation(&operation("2", b"")), Err(ArchiveError::BrokenDeposit)));
        archive.rollback().unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.line(line).unwrap(), None);
    });
}

#[test]
fn a_03_empty_commits_and_rollbacks_do_nothing() {
    on_each_backend(|archive| {
        archive.rollback().unwrap();
        archive.commit().unwrap();
        archive.commit().unwrap();
        archive.rollback().unwrap();
    });
}
