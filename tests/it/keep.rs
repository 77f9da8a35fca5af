//! `ctxc keep`: sessions in the archive as they are, and back from there once their files are gone.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::stage::{Stage, fixture};

/// Adds `text` to the file of a session.
fn append(stage: &Stage, session: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(stage.path_of(session)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn turn(n: u32) -> String {
    let uuid = format!("{n:08x}-0000-4000-8000-00000000000a");
    let message = json!({"role": "user", "content": format!("Turn {n}")});
    let entry = json!({"parentUuid": null, "sessionId": "s", "type": "user", "message": message, "uuid": uuid});
    entry.to_string() + "\n"
}

// N-10
#[test]
fn n_10_a_session_is_kept_up_to_its_last_whole_line_and_once() {
    let stage = Stage::new().session("session-small");
    let id = stage.id_of("session-small");
    let kept = stage.run(["keep", "latest", "--json"]).ended(0).json();
    let n_lines = fixture("session-small").iter().filter(|byte| **byte == b'\n').count();
    let deposit = |json: &serde_json::Value| json["sessions"][0]["deposit"].clone();
    let before = fs::read(stage.path_of("session-small")).unwrap();
    assert_eq!((&kept["verb"], &kept["schema"]), (&json!("keep"), &json!(1)));
    assert_eq!((&kept["sessions"][0]["id"], &kept["sessions"][0]["found"]), (&json!(id), &json!("new")));
    assert_eq!(deposit(&kept), json!({"lines": n_lines, "files": 0, "bytes": before.len()}));
    // A look is enough where nothing has changed, and nothing is added either where it is not.
    for _ in 0..2 {
        let again = stage.run(["keep", &id, "--json"]).ended(0).json();
        assert_eq!(again["sessions"][0]["found"], "unchanged");
        assert_eq!(deposit(&again), json!({"lines": 0, "files": 0, "bytes": 0}));
        append(&stage, "session-small", "");
    }
    // A client is writing its next line.
    append(&stage, "session-small", &format!("{}{}", turn(1), &turn(2)[..20]));
    let grown = stage.run(["keep", &id, "--json"]).ended(0).json();
    assert_eq!(grown["sessions"][0]["found"], "grown");
    assert_eq!(deposit(&grown), json!({"lines": 1, "files": 0, "bytes": turn(1).len()}));
    append(&stage, "session-small", &turn(2)[20..]);
    let run = stage.run(["keep", &id]).ended(0);
    assert_eq!(run.stdout, format!("{id}\n").into_bytes());
    assert!(run.stderr.contains("0 new, 1 grown, 0 unchanged; 1 new line"), "{}", run.stderr);
    // The session itself is as it was.
    let after = fs::read(stage.path_of("session-small")).unwrap();
    assert_eq!(after, [before, (turn(1) + &turn(2)).into_bytes()].concat());
}

// N-10
#[test]
fn n_10_two_at_once_add_nothing_twice() {
    let stage = Stage::new().session("session-small").session("cjk").session_elsewhere("far", "small");
    // What it says is in JSON.
    let running: Vec<_> = (0..3)
        .map(|_| stage.process().args(["keep", "--all", "--json"]).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    let mut n_new = 0;
    for run in running {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["sessions"].as_array().unwrap().len(), 3);
        n_new += json["deposit"]["lines"].as_u64().unwrap();
    }
    let again = stage.run(["keep", "--all", "--json"]).ended(0).json();
    assert!(again["sessions"].as_array().unwrap().iter().all(|row| row["found"] == "unchanged"), "{again}");
    let mut lines: Vec<Vec<u8>> = ["session-small", "cjk", "far"]
        .iter()
        .flat_map(|session| {
            fs::read(stage.path_of(session))
                .unwrap()
                .split_inclusive(|b| *b == b'\n')
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(n_new, lines.len() as u64, "each is new once");
    lines.sort();
    lines.dedup();
    let listed = stage.run(["archive", "list", "--json"]).ended(0).json();
    assert_eq!(listed["counts"]["lines"], lines.len(), "{listed}");
    // A sweep takes nothing of what is kept.
    stage.run(["archive", "gc"]).ended(0);
    let swept = stage.run(["archive", "list", "--json"]).ended(0).json();
    assert_eq!(swept["counts"]["lines"], lines.len(), "{swept}");
}

// N-10
#[test]
fn n_10_what_cannot_be_kept_is_no_reason_to_leave_the_others_out() {
    let stage = Stage::new().session("session-small").session("codex-rollout").session_with("empty", b"");
    let run = stage.run(["keep", "--all"]).ended(3);
    assert_eq!(run.stdout, format!("{}\n", stage.id_of("session-small")).into_bytes());
    assert!(run.stderr.contains("is not kept: cannot read"), "{}", run.stderr);
    let refused = stage.run(["keep", &stage.id_of("codex-rollout")]).ended(1);
    assert!(refused.stderr.contains("a session of"), "{}", refused.stderr);
    stage.run(["keep"]).ended(2);
    stage.run(["keep", "latest", "--all"]).ended(2);
}

// N-10: a named pipe of a session's name would be waited for.
#[cfg(unix)]
#[test]
fn n_10_only_regular_files_are_kept() {
    let stage = Stage::new().session("session-small");
    let pipe = stage.path_of("session-small").with_file_name("3f9a1c2b-0000-4000-8000-000000000000.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let kept = stage.run(["keep", "--all", "--json"]).ended(0).json();
    assert_eq!(kept["sessions"].as_array().unwrap().len(), 1);
}
