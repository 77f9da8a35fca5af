//! `ctxc truncate` as a whole (D-01 to D-09). Where to cut is tested beside the plan (`plan/truncate.rs`); here is what
//! comes of it: the lines, their links, what else names them, and the report.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::oracle::{Truncated, hold_truncated};
use crate::promise::{each, fixtures, real_transcripts};
use crate::random::{config, piece, transcript};
use crate::stage::Stage;

/// Truncates `source` to below `target` tokens by chars4, and holds the result to the rules.
fn keeps_the_promise(source: &[u8], target: u64, flags: &[&str]) {
    let stage = Stage::new().file("in.jsonl", source);
    let tokens = target.to_string();
    let args = |from: &'static str, to: &'static str| {
        [&["truncate", from, "--target-tokens", &tokens, "--tokens", "chars4", "-o", to, "--json"], flags].concat()
    };
    let run = stage.run(args("in.jsonl", "out.jsonl"));
    if run.code == Some(1) && run.stderr.contains("lines is a JSON object") {
        return;
    }
    // Where boundaries keep parts of dead branches, it is not always known what a client would make of the rest.
    if run.code == Some(1) && run.stderr.contains("the conversation that is meant to be left") {
        assert!(String::from_utf8_lossy(source).contains("preserved") && stage.names() == ["in.jsonl"]);
        return;
    }
    let report = run.ended(0).json();
    let output = stage.bytes("out.jsonl");
    hold_truncated(&Truncated { source, output: &output, report: &report, target, flags });
    let check = stage.run(["check", "out.jsonl", "--against", "in.jsonl"]);
    assert_eq!(check.code, Some(0), "V-01, V-02: {}", check.text);
    stage.run(["restore", "out.jsonl", "--all", "-o", "back.jsonl"]).ended(0);
    assert!(stage.bytes("back.jsonl") == source, "P-05: the source does not come back");
    // The same again gives the same, and a second time nothing changes; a loop that was ended has a message more.
    stage.run(args("in.jsonl", "again.jsonl")).ended(0);
    assert!(stage.bytes("again.jsonl") == output, "D-02: two runs differ");
    if report["closed_loop"] != true {
        let again = stage.run(args("out.jsonl", "twice.jsonl")).ended(0).json();
        assert!(!again["unchanged"].is_null() && stage.bytes("twice.jsonl") == output, "D-06: {again}");
    }
}

// D-01 to D-08, S-04, S-05, S-06, V-02, P-05
#[test]
fn every_fixture_is_truncated_as_promised() {
    each(&fixtures(), |path| {
        let source = fs::read(path).unwrap();
        for target in [1, 60, 400, 5000] {
            keeps_the_promise(&source, target, &[]);
        }
        keeps_the_promise(&source, 60, &["--keep-thinking"]);
        keeps_the_promise(&source, 60, &["--close-loop"]);
    });
}

// The same over real transcripts, and by the estimate that a context window is held against.
#[test]
fn every_real_transcript_is_truncated_as_promised() {
    each(&real_transcripts().0, |path| {
        keeps_the_promise(&fs::read(path).unwrap(), 20_000, &[]);
        is_calibrated(path);
    });
}

fn is_calibrated(path: &Path) {
    let stage = Stage::new();
    let path = path.to_str().unwrap();
    let args = ["truncate", path, "--target-tokens", "20000", "-o", "out.jsonl", "--json"];
    let report = stage.run(args).ended(0).json();
    let after = &report["tokens"]["calibrated"]["after"];
    assert_eq!(&report["size"], after);
    assert_eq!(report["over_target"].as_u64(), after.as_u64().filter(|after| *after >= 20_000));
    let check = stage.run(["check", "out.jsonl", "--against", path]);
    assert_eq!(check.code, Some(0), "{}", check.text);
    stage.run(["restore", "out.jsonl", "--all", "-o", "back.jsonl"]).ended(0);
    assert!(stage.bytes("back.jsonl") == fs::read(path).unwrap());
}

proptest! {
    #![proptest_config(config())]

    // D-02 to D-08, S-04, S-05, V-02, P-05
    #[test]
    fn any_transcript_is_truncated_as_promised(
        pieces in prop::collection::vec(piece(), 1..24),
        is_torn in prop::bool::weighted(0.1),
        target in prop_oneof![1..20u64, 20..800u64],
        flag in prop::sample::select(vec!["", "--keep-thinking", "--close-loop"]),
    ) {
        let flags: &[&str] = if flag.is_empty() { &[] } else { &[flag] };
        keeps_the_promise(&transcript(&pieces, is_torn), target, flags);
    }
}
