//! Sessions of Codex (O-03): read beside others, and refused by name. `scripts/test-agents` asks the real client.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stage::{Stage, fixture};

/// The id of the session in `fixtures/codex-session.jsonl`.
const ID: &str = "01a214eb-0000-7000-8000-00000000c0de";

fn lines() -> Vec<Value> {
    let text = String::from_utf8(fixture("codex-session")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text_of(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| line.to_string() + "\n").collect::<String>().into_bytes()
}

/// A rollout that says `payload` in a line of this type.
fn line(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-11-23T11:00:00.000Z", "ordinal": 99, "type": kind, "payload": payload})
}

/// `source`, with the project of the stage as its folder, where Codex has it.
fn put(stage: &Stage, folder: &str, name: &str, source: &[u8]) -> PathBuf {
    let project = stage.path("").canonicalize().unwrap();
    let project = project.to_str().unwrap().trim_end_matches('/');
    let source =
        String::from_utf8_lossy(source).replacen("\"cwd\":\"/home/dev/atlas\"", &format!("\"cwd\":\"{project}\""), 1);
    let path = stage.home_path(".codex").join(folder).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, source).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    path
}

fn name_of(id: &str) -> String {
    format!("rollout-2026-11-23T10-00-00-{id}.jsonl")
}

/// A stage with the session of two turns, and its path.
fn stage_with(source: &[u8]) -> (Stage, PathBuf) {
    let stage = Stage::new();
    let path = put(&stage, "sessions/2026/11/23", &name_of(ID), source);
    (stage, path)
}

fn json(stage: &Stage, args: &[&str]) -> Value {
    stage.run([args, &["--json"]].concat().as_slice()).ended(0).json()
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

// O-03, O-06
#[test]
fn o_03_sessions_of_codex_are_listed_and_read_beside_others() {
    let (stage, path) = stage_with(&fixture("codex-session"));
    let stage = stage.session("small");
    let archived = "01a214eb-0000-7000-8000-00000000a0a0";
    let other = String::from_utf8(fixture("codex-session")).unwrap().replace(ID, archived);
    put(&stage, "archived_sessions", &name_of(archived), other.as_bytes());
    let elsewhere =
        other.replace(archived, "01a214eb-0000-7000-8000-00000000b0b0").replace("/home/dev/atlas", "/home/dev/other");
    put(&stage, "sessions/2026/11/24", &name_of("01a214eb-0000-7000-8000-00000000b0b0"), elsewhere.as_bytes());
    let listed = json(&stage, &["list"]);
    let agents: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|row| row["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["Claude Code", "Codex", "Codex"]);
    assert_eq!(json(&stage, &["list", "--all", "--agent", "codex"])["sessions"].as_array().unwrap().len(), 3);
    let rows = json(&stage, &["list", "--agent", "codex"])["sessions"].clone();
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == ID).unwrap();
    assert_eq!((row["turns"].as_u64(), row["title"].as_str()), (Some(2), Some("How many tests are there?")));
    assert_eq!((row["path"].as_str(), &row["tokens"]), (path.to_str(), &json!(2210)));
    assert!(row["folder"].as_str().unwrap().ends_with("shop"), "{row}");
    // By its id, and as the newest of the agent.
    assert_eq!(json(&stage, &["stats", ID])["session"]["path"].as_str(), path.to_str());
    let newest = json(&stage, &["stats", "latest", "--agent", "codex"]);
    assert!(newest["session"]["path"].as_str().unwrap().contains("/.codex/"), "{newest}");
    // What the client tells the model by itself is no prompt, and shown.
    let shown = stage.run(["show", word(&path)]).ended(0).text;
    for said in [
        "How many tests are there?", "There are 60 tests", "Rename case_002", "environment_context",
        "Renamed; it passes.",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert_eq!(json(&stage, &["check", word(&path)])["problems"], json!([]));
    stage.run(["map", word(&path)]).ended(0);
}

// O-03
#[test]
fn o_03_calls_have_the_tools_and_the_arguments_that_people_know() {
    let (stage, path) = stage_with(&fixture("codex-session"));
    let refs = json(&stage, &["refs", word(&path)]);
    let calls: Vec<(&str, &str)> = refs["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (call["tool"].as_str().unwrap(), call["argument"].as_str().unwrap()))
        .collect();
    assert_eq!(calls, [("Bash", "cat tests.txt"), ("Edit", "tests.txt"), ("Bash", "cargo test second")]);
    let exported = stage.run(["export", word(&path), "--format", "openai", "-o", "-"]).ended(0).text;
    assert!(exported.contains("cargo test second"), "{exported}");
    let hits = json(&stage, &["find", "case_041", "--agent", "codex"])["hits"].clone();
    assert_eq!(hits[0]["path"].as_str(), path.to_str(), "{hits}");
    assert_eq!(hits[0]["resume"].as_str(), Some(format!("codex resume {ID}").as_str()));
    let kept = stage.run(["keep", word(&path)]).ended(0);
    assert_eq!(kept.stdout, format!("{ID}\n").into_bytes());
    stage.run(["restore", ID, "--kept", "-o", "kept.jsonl"]);
    let doctor = stage.run(["doctor", "--json"]).json();
    assert_eq!(doctor["sessions_checked"], 1, "{doctor}");
}

// O-03, L-01
#[test]
fn o_03_what_a_resume_sends_is_active() {
    let mut all = lines();
    let history =
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "SUMMARY OF BEFORE"}]}]);
    all.push(line("compacted", &json!({"message": "SUMMARY OF BEFORE", "replacement_history": history})));
    let prompt = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]});
    all.push(line("response_item", &prompt));
    let (stage, path) = stage_with(&text_of(&all));
    let shown = stage.run(["show", word(&path)]).ended(0).text;
    assert!(
        shown.contains("SUMMARY OF BEFORE") && shown.contains("And now?") && !shown.contains("There are 60"),
        "{shown}"
    );
    assert_eq!(json(&stage, &["stats", word(&path)])["turns"].as_array().map(Vec::len), Some(1));
    // A turn that was taken back, a torn line, garbage and an unknown type.
    let mut all = lines();
    all.push(line("a_type_of_tomorrow", &json!({"x": 1})));
    all.push(line("event_msg", &json!({"type": "thread_rolled_back", "num_turns": 1})));
    let mut text = text_of(&all);
    text.extend(b"no json\n\n{\"timestamp\":\"2026-1");
    let (stage, path) = stage_with(&text);
    let shown = stage.run(["show", word(&path)]).ended(0).text;
    assert!(shown.contains("There are 60") && !shown.contains("Rename case_002"), "{shown}");
    // A fork says that its parent is not counted.
    let mut all = lines();
    all[0]["payload"]["history_base"] =
        json!({"thread_id": "01a214eb-0000-7000-8000-0000000000aa", "end_ordinal_exclusive": 5, "end_byte_offset": 99});
    let (stage, path) = stage_with(&text_of(&all));
    assert!(stage.run(["stats", word(&path)]).ended(0).stderr.contains("parent session 01a214eb"));
}

// O-03
#[test]
fn o_03_legacy_and_compressed_rollouts_are_read() {
    let stage = Stage::new().file("legacy.jsonl", fixture("codex-rollout"));
    let stats = json(&stage, &["stats", "legacy.jsonl"]);
    assert_eq!(stats["turns"].as_array().map(Vec::len), Some(1), "{stats}");
    let path = put(&stage, "sessions/2026/11/23", &(name_of(ID) + ".zst"), b"");
    let packed =
        zstd::encode_all(&*fs::read(put(&stage, "x", "y.jsonl", &fixture("codex-session"))).unwrap(), 3).unwrap();
    fs::write(&path, packed).unwrap();
    let rows = json(&stage, &["list", "--agent", "codex"])["sessions"].clone();
    assert_eq!((rows[0]["id"].as_str(), rows[0]["turns"].as_u64()), (Some(ID), Some(2)), "{rows}");
    let shown = stage.run(["show", &ID[..8]]).ended(0).text;
    assert!(shown.contains("Renamed; it passes."), "{shown}");
    fs::write(&path, b"\x28\xb5\x2f\xfd torn").unwrap();
    stage.run(["show", word(&path)]).ended(1);
}

// O-03
#[test]
fn o_03_what_the_rules_of_codex_refuse_is_refused_by_name() {
    let history = json!([{"type": "message", "role": "user", "content": []}]);
    for (more, said) in [
        (json!({"replacement_history_metadata": []}), "is not as long as its history"),
        (json!({"replacement_history_entries": [{"reference_v2": {"item_id": "x"}}]}), "made of references"),
    ] {
        let mut payload = json!({"message": "", "replacement_history": history});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut all = lines();
        all.push(line("compacted", &payload));
        let (stage, path) = stage_with(&text_of(&all));
        let run = stage.run(["stats", word(&path)]).ended(1);
        assert!(run.stderr.contains(said) && run.stderr.contains(":31: "), "{}", run.text);
        let rows = json(&stage, &["list"])["sessions"].clone();
        assert!(rows[0]["problem"].as_str().unwrap().contains(said), "{rows}");
    }
    // Whatever changes a session says that it does not.
    let (stage, path) = stage_with(&fixture("codex-session"));
    let source = fs::read(&path).unwrap();
    for verb in
        [&["fit", word(&path), "--to", "50%"][..], &["prune", word(&path)], &["compact", word(&path), "--in-place"]]
    {
        let run = stage.run(verb).ended(1);
        assert!(run.stderr.contains("is a session of Codex, which ctxc reads and does not change"), "{}", run.text);
    }
    assert_eq!(fs::read(&path).unwrap(), source);
}

// O-03: files of the corpus, where there is one.
#[test]
#[ignore = "needs CTXC_CORPUS"]
fn o_03_every_rollout_of_a_corpus_is_read() {
    let corpus = PathBuf::from(std::env::var_os("CTXC_CORPUS").unwrap());
    let manifest = fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap();
    let files = manifest.lines().filter(|row| row.split('\t').nth(1) == Some("codex"));
    let mut n_files = 0;
    for file in files.filter_map(|row| row.split('\t').next()) {
        let path = corpus.join(file);
        let stage = Stage::new();
        for verb in ["stats", "show", "map", "refs"] {
            let run = stage.run([verb, word(&path)]);
            assert!(run.code == Some(0), "{verb} {file}: {}", run.text);
        }
        n_files += 1;
    }
    assert!(n_files > 5);
}
