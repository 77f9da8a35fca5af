//! Operations, their recipes and their lineage.

use std::path::{Path, PathBuf};

use super::samples::{operation, recipe, record};
use crate::testing::on_each_backend;
use crate::{ArchiveError, FileRef, Operation, Operations, lineage};
use ctxc_transcript::text::Digest;

#[test]
fn a_06_an_operation_is_found_by_its_id_or_a_beginning_of_it() {
    on_each_backend(|archive| {
        for (id, output) in [("01ab1", "1"), ("01ab", "2"), ("01ac", "3")] {
            record(archive, id, output.as_bytes());
        }
        let id = |given: &str| archive.operation(given).map(|found| found.map(|operation| operation.id));
        assert_eq!(id("01ab1").unwrap().as_deref(), Some("01ab1"));
        assert_eq!(id("01ab").unwrap().as_deref(), Some("01ab"), "a whole id is itself");
        assert_eq!(id("01ac").unwrap().as_deref(), Some("01ac"));
        assert_eq!(id("02").unwrap(), None);
        assert_eq!(id("01ac%").unwrap(), None);
        for given in ["01a", "0", ""] {
            let error = id(given).unwrap_err();
            let ArchiveError::AmbiguousOperation { ids, .. } = &error else { panic!("{error}") };
            assert_eq!(ids.len(), 3);
            assert!(error.to_string().contains("01ab1"), "{error}");
        }
    });
}

#[test]
fn a_06_the_lineage_of_an_operation_leads_back_to_the_first_source() {
    on_each_backend(|archive| {
        let file = |path: &str, content: &str| FileRef {
            path: Some(PathBuf::from(path)),
            digest: Digest::of(content.as_bytes()),
            bytes: content.len() as u64,
        };
        let mut put = |id: &str, source: FileRef, output: FileRef| {
            let operation = Operation { source, output, ..operation(id, b"") };
            archive.put_operation(&operation, &[]).unwrap();
            archive.commit().unwrap();
        };
        put("1", file("a", "first"), file("b", "second"));
        // The source comes back, byte for byte, and goes another way.
        put("2", file("b", "second"), file("a", "first"));
        put("3", file("a", "first"), file("c", "third"));
        // A copy leads nowhere.
        put("4", file("c", "third"), file("d", "third"));
        // The client adds to c; somebody else writes a longer c first, which was not read.
        put("5", file("x", "other"), file("c", "a longer one than what was read"));
        put("6", file("c", "third and more"), file("e", "sixth"));
        put("7", file("d", "third"), file("f", "seventh"));
        put("8", FileRef { path: None, ..file("", "?") }, file("g", "eighth"));
        let ids = |id: &str| -> Vec<String> {
            let newest = archive.operation(id).unwrap().unwrap();
            lineage(archive, &newest).unwrap().into_iter().map(|operation| operation.id).collect()
        };
        for (id, expected) in [
            ("1", ["1"].as_slice()),
            ("2", &["2", "1"]),
            ("3", &["3", "2", "1"]),
            ("6", &["6", "3", "2", "1"]),
            ("7", &["7", "3", "2", "1"]),
            ("8", &["8"]),
        ] {
            assert_eq!(ids(id), expected, "{id}");
        }
    });
}

#[test]
fn a_02_an_operation_comes_back_whole() {
    on_each_backend(|archive| {
        let full = operation("1", b"output");
        let bare =
            Operation { session_ids: Vec::new(), cuts: Vec::new(), tokens: None, report: None, ..operation("2", b"") };
        archive.put_operation(&full, &recipe()).unwrap();
        archive.put_operation(&bare, &[]).unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.operations(Operations::Wrote(Digest::of(b"output"))).unwrap(), std::slice::from_ref(&full));
        assert_eq!(archive.operations(Operations::Of("session")).unwrap(), [full.clone(), bare]);
        assert_eq!(archive.recipe("1").unwrap(), Some(recipe()));
        assert_eq!(archive.recipe("2").unwrap(), Some(Vec::new()));
        assert_eq!(archive.recipe("4").unwrap(), None);
        assert!(archive.operations(Operations::Of("another")).unwrap().is_empty());
        let placed = Operation {
            output: FileRef { path: Some(PathBuf::from("there")), ..full.output.clone() },
            ..operation("3", b"")
        };
        archive.put_operation(&placed, &[]).unwrap();
        archive.commit().unwrap();
        assert_eq!(archive.operations(Operations::At(Path::new("there"))).unwrap(), [placed]);
        assert!(archive.operations(Operations::At(Path::new("elsewhere"))).unwrap().is_empty());
        assert_eq!(archive.operations(Operations::Wrote(Digest::of(b"source"))).unwrap(), []);
    });
}

#[test]
fn a_02_of_two_operations_with_one_output_the_newest_is_found() {
    on_each_backend(|archive| {
        // The later put is the newer one, whatever the ids and the clocks say.
        for id in ["z", "a"] {
            record(archive, id, b"output");
        }
        assert_eq!(archive.operations(Operations::Wrote(Digest::of(b"output"))).unwrap()[0].id, "a");
    });
}

#[test]
fn a_02_an_operation_is_recorded_once_and_its_id_is_its_own() {
    on_each_backend(|archive| {
        let first = operation("1", b"output");
        archive.put_operation(&first, &recipe()).unwrap();
        record(archive, "1", b"output");
        record(archive, "1", b"output");
        assert_eq!(archive.operations(Operations::Of("session")).unwrap(), std::slice::from_ref(&first));

        for (operation, recipe) in [(operation("1", b"something else"), recipe()), (first, Vec::new())] {
            let error = archive.put_operation(&operation, &recipe).unwrap_err();
            assert!(matches!(error, ArchiveError::DuplicateOperation { .. }), "{error}");
            archive.rollback().unwrap();
        }
    });
}
