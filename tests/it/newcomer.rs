//! A session as a newcomer sees it: undo after undo, and figures that agree (W-14).

use std::fs::File;
use std::io::Write;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::stage::{Run, Stage};

fn latest(stage: &Stage) -> String {
    stage.run(["--json"]).ended(0).json()["session"]["id"].as_str().unwrap().to_owned()
}

fn written(run: &Run) -> String {
    run.path().file_stem().unwrap().to_str().unwrap().to_owned()
}

// W-14
#[test]
fn w_14_undo_goes_back_and_forward_one_operation_at_a_time() {
    let stage = Stage::new().session("session-small");
    let source = stage.id_of("session-small");
    let first = written(&stage.run(["fit", "--to", "30000"]).ended(0));
    let second = written(&stage.run(["fit", "--to", "29000"]).ended(0));
    let untouched = std::fs::read(stage.path_of("session-small")).unwrap();
    for (args, expected) in [
        (&["undo", "--dry-run"][..], &second),
        (&["undo"][..], &first),
        (&["undo"], &source),
        (&["undo", "--redo"], &first),
        (&["undo", "--redo"], &second),
        (&["undo"], &first),
        (&["undo", "--redo"], &second),
    ] {
        stage.run(args).ended(0);
        assert_eq!(&latest(&stage), expected, "{args:?}");
    }
    assert_eq!(std::fs::read(stage.path_of("session-small")).unwrap(), untouched);
    let none = stage.run(["undo", "--redo"]).ended(1);
    assert!(none.stderr.contains("nothing to redo"), "{}", none.text);

    // A version that was redone counts as saved, and a version is named after the operation that made it.
    let gain = stage.run(["gain", "--json"]).ended(0).json();
    assert_eq!(gain["undone"], 0, "{gain}");
    let list = stage.run(["list"]).ended(0).text;
    assert!(list.contains("fit of") && !list.contains("undo of"), "{list}");
    assert!(!list.contains("(rewritten) (rewritten)"), "{list}");
}

// W-14
#[test]
fn w_14_there_is_nothing_to_undo_where_there_is_no_archive() {
    let stage = Stage::new().session("session-small");
    for verb in ["undo", "restore"] {
        let all = if verb == "restore" { &[verb, "--all"][..] } else { &[verb] };
        let run = stage.run(all).ended(1);
        assert!(run.stderr.starts_with(&format!("error: nothing to {verb}: there is no archive at ")), "{}", run.text);
    }
}

// W-14
#[test]
fn w_14_an_undo_hides_neither_a_client_that_writes_nor_what_it_wrote() {
    let stage = Stage::new().session("session-small");
    let path = stage.path_of("session-small");
    let age = |seconds| {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    age(3600);
    stage.run(["fit", "--to", "30000"]).ended(0);
    // A client wrote to the session a moment ago.
    age(5);
    stage.run(["undo"]).ended(0);
    let refused = stage.run(["prune", "latest", "--mask", "1", "--in-place"]).ended(1);
    assert!(refused.stderr.contains("a client may still have it open"), "{}", refused.text);

    // It is still there, so that it cannot be another file.
    let refused = stage.run(["undo", "--redo", "-o", "other.jsonl"]).ended(1);
    assert!(refused.stderr.contains("is still there"), "{}", refused.text);

    let message = json!({"role": "user", "content": "And now the tests."});
    let entry = json!({"parentUuid": null, "sessionId": "s", "type": "user", "message": message, "uuid": "new"});
    let mut file = File::options().append(true).open(path).unwrap();
    writeln!(file, "{entry}").unwrap();
    let refused = stage.run(["undo", "--redo"]).ended(1);
    assert!(refused.stderr.contains("lacks entries that were appended"), "{}", refused.text);
}
