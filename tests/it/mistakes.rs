//! Mistakes as people make them, each with all that the program answers (W-16, W-17).

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::stage::{Stage, fixture};

/// Command lines, a word at each space.
const MISTAKES: &str = "\
fti
tsats
lsit
shwo
cehck
ls
search webhook
grep webhook
history
sessions
revert
shrink
delete r_1
status
usage
version
help nothing
compres latest --bands 0-30:heavy
fit 50%
fit 30k
fit lates
fit last
fit newest
fit nope
fit latest 50%
fit --to
fit --to 0
fit --to -5
fit --to 50
fit --to 101%
fit --to 50 %
fit --to 30.000
fit --to 30,00
fit --to 30kk
fit --to half
fit --form 30k
fit latest --to 30k --in-place -o out.jsonl
fit latest --to 30k -o notes.txt
truncate latest --target-tokens 0
truncate latest --target-tokens -1
truncate latest --target-tokens 300% --dry-run
truncate latest --threshold 2
compress latest
compress latest --bands
compress latest --bands 0-30
compress latest --bands 30-0:heavy
compress latest --bands 0-30:hevy
compress latest --bands 0-30:heavy,20-50:light
compress latest --bands 0-130:heavy
compress latest --bands 0-30:heavy --engine chatt
compress latest --bands 0-30:heavy --include tool-result
compress latest --bands 0-30:heavy --only toolresults
compress s.jsonl latest --bands 0-30:heavy
compact latest --keep-recent -1
compact latest --keep-recent many
compact latest --context-budget 2
prune latest --mask -1
prune latest --mask x
prune latest --rules hash,files
prune latest --protect-tools
prune nope.jsonl
prune latest --preset gentle
run latest --preset strong
run latest --plan nope.toml
discard latest
discard latest r_00000
discard latest --targets nope.json
distill latest
distill latest r_00000=
restore latest
restore latest r_00000
restore latest --all
undo
undo nope
undo latest --op 1
undo latest --op
undo --redo
log
refs nope
show latest --last x
show latest --turn -1
show latest --line 0
show latest --speaker robot
show latest --search
diff
diff latest nope
find
find --since yesterday webhook
find --limit x webhook
map latest -o no/such/folder/m.html
map latest -o s.jsonl
list --limit
list extra
stats s.jsonl.gz
stats s.jsonl.zst
stats array.json
stats notes.txt
stats empty.jsonl
stats .
stats latest extra
stats codex.jsonl
check s.jsonl.gz
check array.json
check notes.txt
check empty.jsonl
check
check s.jsonl --against notes.txt
show array.json
map notes.txt -o m.html
fit array.json
prune s.jsonl.gz
compact empty.jsonl
export notes.txt --format atif
export latest
export latest --format pdf
keep notes.txt
forget
forget webhook
clean --older-than soon
clean --older-than 0
archive
archive search
archive show
gain --by week
doctor latest
config --set min_tokens=5
statusline extra
batch
batch stat
batch stats nope.jsonl
batch stats --bands 0-30:hevy
batch export
buffer
client
client instal
completions
completions tcsh
mcp --port 1
--archive memory: list
--jsn list
list --jsn
-x
s.jsonl --to 30k
nope.jsonl
0123456789abcdef";

// W-16, W-17
#[test]
fn w_16_a_mistake_is_answered_by_what_is_wrong_and_what_was_meant() {
    let small = fixture("small");
    let codex = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/"}}"#;
    let stage = Stage::new()
        .session("session-small")
        .file("s.jsonl", &small)
        .file("s.jsonl.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00")
        .file("s.jsonl.zst", b"\x28\xb5\x2f\xfd\x00\x00\x00\x00")
        .file("array.json", "[{\"type\":\"user\"}]\n")
        .file("notes.txt", "what to do next\n")
        .file("empty.jsonl", "")
        .file("codex.jsonl", codex);
    let mut answers = String::new();
    for line in MISTAKES.lines() {
        let run = stage.run(line.split(' ').collect::<Vec<_>>());
        writeln!(answers, "$ ctxc {line}\n{}", run.text).unwrap();
    }
    assert_eq!(stage.bytes("s.jsonl"), small, "no mistake changes a session");
    assert_snapshot!(answers);
}

// W-16
#[test]
fn w_16_a_mistake_in_a_configuration_names_the_key_that_was_meant() {
    for (line, meant) in
        [("min_token = 5", "min_tokens"), ("contextwindow = 5", "context_window"), ("treshold = 0.5", "threshold")]
    {
        let run = Stage::new().file("../config/ctxc/ctxc.toml", line).run(["config"]).ended(2);
        assert!(run.stderr.contains(&format!("did you mean {meant}?")), "{}", run.text);
    }
}

// W-17
#[test]
fn w_17_what_is_no_session_is_refused_by_every_verb_in_the_same_words() {
    let files: [(&str, &[u8], &str); 4] = [
        ("s.jsonl.gz", b"\x1f\x8b\x08\x00\n", "is compressed by gzip"),
        ("s.jsonl.zst", b"\x28\xb5\x2f\xfd\n", "is compressed by zstd"),
        ("array.json", b"[{\"type\":\"user\"}]\n", "is a JSON array"),
        ("notes.txt", b"what to do next\n", "is not a transcript: none of its 1 lines is a JSON object"),
    ];
    for (name, bytes, is) in files {
        let stage = Stage::new().file(name, bytes);
        let verbs: [&[&str]; 12] = [
            &["stats", name],
            &["check", name],
            &["show", name],
            &["refs", name],
            &["log", name],
            &["diff", name],
            &["keep", name],
            &["fit", name],
            &["prune", name],
            &["compact", name],
            &["truncate", name],
            &["export", name, "--format", "markdown"],
        ];
        for verb in verbs {
            let run = stage.run(verb).ended(1);
            assert!(run.stderr.contains(&format!("error: {name} {is}")), "{verb:?}: {}", run.text);
        }
    }
}
