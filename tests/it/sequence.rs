//! Random sequences of cuts and restores, in place, as files and as new sessions, held against a model that knows which
//! items are cut: what is restored has its own bytes again, what is cut has not, and the source comes back (P-05).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use crate::stage::{Run, Stage, corpus};

/// A part of a conversation.
#[derive(Clone, Debug)]
enum Part {
    Prompt { blocks: u8 },
    Answer { thinking: bool, text: bool, calls: Vec<u8>, one_line: bool },
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        2 => (0..3u8).prop_map(|blocks| Part::Prompt { blocks }),
        5 => (any::<bool>(), any::<bool>(), prop::collection::vec(0..6u8, 0..4), any::<bool>())
            .prop_map(|(thinking, text, calls, one_line)| Part::Answer { thinking, text, calls, one_line }),
    ]
}

/// What is done next; the numbers choose among what is there.
#[derive(Clone, Debug)]
enum Deed {
    Discard(Vec<u8>),
    Distill(Vec<u8>),
    Restore(Vec<u8>),
    RestoreOp(u8),
    Prune,
    Compress,
    Truncate,
    Compact(u8),
    RestoreAll,
    Append,
}

fn deed() -> impl Strategy<Value = (Deed, Landing)> {
    let some = || prop::collection::vec(any::<u8>(), 1..5);
    let deed = prop_oneof![
        4 => some().prop_map(Deed::Discard),
        2 => some().prop_map(Deed::Distill),
        4 => some().prop_map(Deed::Restore),
        3 => any::<u8>().prop_map(Deed::RestoreOp),
        1 => Just(Deed::Prune),
        1 => Just(Deed::Compress),
        1 => Just(Deed::Truncate),
        3 => (0..8u8).prop_map(Deed::Compact),
        1 => Just(Deed::RestoreAll),
        2 => Just(Deed::Append),
    ];
    (deed, prop::sample::select(vec![Landing::InPlace, Landing::File, Landing::Session]))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landing {
    InPlace,
    File,
    Session,
}

/// Something that can be cut: a result, or the text of a message.
#[derive(Clone, Debug)]
struct Item {
    uuid: String,
    /// What names it.
    target: String,
    /// The blocks, or the string content, as they stand in the source.
    raw: Vec<String>,
}

/// A conversation in which no text is like another.
#[derive(Default)]
struct Draft {
    lines: Vec<String>,
    items: Vec<Item>,
    parent: Option<String>,
    n: usize,
}

const SESSION: &str = "5e551011-0000-4000-8000-00000000000a";

impl Draft {
    fn entry(&mut self, kind: &str, parent: Option<&String>, fields: &Value) -> String {
        let n = self.lines.len() + 1;
        let uuid = format!("{n:08x}-0000-4000-8000-000000000000");
        let mut entry = json!({"parentUuid": parent, "isSidechain": false, "sessionId": SESSION, "type": kind});
        entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        entry["uuid"] = uuid.clone().into();
        entry["timestamp"] = format!("2026-01-01T{:02}:{:02}:{:02}.000Z", n / 3600, n / 60 % 60, n % 60).into();
        self.lines.push(entry.to_string());
        uuid
    }

    fn words(&mut self, what: &str) -> String {
        self.n += 1;
        let n = self.n;
        format!(
            "{what} {n} starts. {} It says \"quoted {n}\" and ends as {what} {n}.",
            "Some words between. ".repeat(n % 7)
        )
    }

    fn add(&mut self, part: &Part) {
        match part {
            Part::Prompt { blocks } => {
                let text = self.words("Prompt");
                let content = match blocks {
                    0 => Value::from(text.clone()),
                    1 => json!([{"type": "text", "text": text}]),
                    _ => {
                        let more = self.words("Postscript");
                        json!([{"type": "text", "text": text}, {"type": "image", "source": {"n": self.n}}, {"type": "text", "text": more}])
                    }
                };
                let raw = match &content {
                    Value::Array(blocks) => {
                        blocks.iter().filter(|block| block["type"] == "text").map(Value::to_string).collect()
                    }
                    text => vec![text.to_string()],
                };
                let parent = self.parent.clone();
                let uuid =
                    self.entry("user", parent.as_ref(), &json!({"message": {"role": "user", "content": content}}));
                self.text_item(&uuid, &text, raw);
                self.parent = Some(uuid);
            }
            Part::Answer { thinking, text, calls, one_line } => self.answer(*thinking, *text, calls, *one_line),
        }
    }

    fn text_item(&mut self, uuid: &str, text: &str, raw: Vec<String>) {
        let words: Vec<&str> = text.split(' ').collect();
        let target = format!("{}...{}", words[..2].join(" ").to_uppercase(), words[words.len() - 2..].join("  "));
        self.items.push(Item { uuid: uuid.to_owned(), target, raw });
    }

    fn answer(&mut self, thinking: bool, text: bool, calls: &[u8], one_line: bool) {
        self.n += 1;
        let id = format!("msg_{}", self.n);
        let mut blocks = Vec::new();
        if thinking {
            blocks.push(json!({"type": "thinking", "thinking": self.words("Thought"), "signature": "c2ln"}));
        }
        let words = (text || calls.is_empty()).then(|| self.words("Answer"));
        blocks.extend(words.iter().map(|words| json!({"type": "text", "text": words})));
        let ids: Vec<String> = calls.iter().enumerate().map(|(at, _)| format!("toolu_{}_{at}", self.n)).collect();
        for (id, kind) in ids.iter().zip(calls) {
            let input = match kind {
                0..3 => json!({"file_path": format!("/p/{kind}.rs")}),
                _ => json!({"command": format!("make {id}")}),
            };
            let tool = if *kind < 3 { "Read" } else { "Bash" };
            blocks.push(json!({"type": "tool_use", "id": id, "name": tool, "input": input}));
        }
        let usage =
            json!({"input_tokens": 3, "cache_read_input_tokens": 5000 + 300 * self.lines.len(), "output_tokens": 9});
        let lines: Vec<Vec<Value>> =
            if one_line { vec![blocks] } else { blocks.into_iter().map(|block| vec![block]).collect() };
        let mut owners = Vec::new();
        for content in lines {
            let n_calls = content.iter().filter(|block| block["type"] == "tool_use").count();
            let raw: Vec<String> =
                content.iter().filter(|block| block["type"] == "text").map(Value::to_string).collect();
            let message = json!({"id": id, "role": "assistant", "content": content, "usage": usage});
            let parent = self.parent.clone();
            let uuid = self.entry("assistant", parent.as_ref(), &json!({"message": message}));
            if let (Some(words), false) = (&words, raw.is_empty()) {
                self.text_item(&uuid, words, raw);
            }
            owners.extend(std::iter::repeat_n(uuid.clone(), n_calls));
            self.parent = Some(uuid);
        }
        for ((id, owner), kind) in ids.into_iter().zip(owners).zip(calls) {
            let text = self.words("Result");
            let content =
                if kind % 2 == 0 { Value::from(text.clone()) } else { json!([{"type": "text", "text": text}]) };
            let block = json!({"tool_use_id": id, "type": "tool_result", "content": content});
            let copy = json!({"stdout": text.repeat(3), "n": 1.50});
            let fields = json!({"message": {"role": "user", "content": [block]}, "toolUseResult": copy});
            let raw = vec![block.to_string(), format!("\"toolUseResult\":{copy}")];
            let uuid = self.entry("user", Some(&owner), &fields);
            self.items.push(Item { uuid: uuid.clone(), target: id, raw });
            self.parent = Some(uuid);
        }
    }
}

/// What the test believes of a transcript.
struct Model {
    stage: Stage,
    source: Vec<u8>,
    items: Vec<Item>,
    /// The file as it is now.
    path: PathBuf,
    /// The items that are cut, by what the deeds said.
    cut: BTreeSet<usize>,
    /// The items whose entries are gone.
    gone: BTreeSet<usize>,
    /// Each operation of the lineage, oldest first: its id, and what it cut and gave back, took out and brought again.
    operations: Vec<Effect>,
    /// Whether the archive knows the file: a copy of which nothing was cut is noted too.
    is_known: bool,
    n_files: usize,
    /// What a client has added, by its words.
    added: Vec<String>,
    /// The batches that the transcript starts with.
    batches: Vec<String>,
    /// The compaction that made them, by the place of its operation.
    boundary: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct Effect {
    id: String,
    /// The batches that the transcript started with before and after.
    batches: (Vec<String>, Vec<String>),
    /// The compactions whose summaries these are, by the places of their operations.
    boundary: (Option<usize>, Option<usize>),
    cut: BTreeSet<usize>,
    back: BTreeSet<usize>,
    gone: BTreeSet<usize>,
    again: BTreeSet<usize>,
}

impl Model {
    fn new(parts: &[Part]) -> Self {
        let mut draft = Draft::default();
        draft.add(&Part::Prompt { blocks: 1 });
        for part in parts {
            draft.add(part);
        }
        draft.add(&Part::Answer { thinking: true, text: true, calls: Vec::new(), one_line: false });
        let source = draft.lines.join("\n") + "\n";
        let stage = Stage::new().file("in.jsonl", &source).file("0.jsonl", &source);
        let mut model = Self {
            path: stage.path("0.jsonl"),
            stage,
            source: source.into_bytes(),
            items: draft.items,
            cut: BTreeSet::new(),
            gone: BTreeSet::new(),
            operations: Vec::new(),
            is_known: false,
            n_files: 0,
            added: Vec::new(),
            batches: Vec::new(),
            boundary: None,
        };
        model.name_calls();
        model
    }

    /// Handles in the place of ids.
    fn name_calls(&mut self) {
        let refs = self.stage.run(["refs", "in.jsonl", "--json"]).ended(0).json();
        let handles: BTreeMap<String, String> = refs["calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| (call["id"].as_str().unwrap().to_owned(), call["handle"].as_str().unwrap().to_owned()))
            .collect();
        for item in &mut self.items {
            if let Some(handle) = handles.get(&item.target) {
                item.target.clone_from(handle);
            }
        }
    }

    fn run(&mut self, verb: &str, args: &[&str], landing: Landing) -> Run {
        self.n_files += 1;
        let out = format!("{}.jsonl", self.n_files);
        let id = format!("5e551011-0000-4000-8000-{:012x}", 0xb00 + self.n_files);
        let landing: &[&str] = match landing {
            Landing::InPlace => &["--in-place", "--force"],
            Landing::File => &["-o", &out],
            Landing::Session => &["--session-id", &id],
        };
        let path = self.path.to_str().unwrap().to_owned();
        let args = [&[verb, &path], args, landing, &["--json"]].concat();
        self.stage.run(&args)
    }

    /// Takes over what `run` wrote.
    fn take(&mut self, run: &Run) -> Value {
        let report = run.json();
        if let Some(output) = report["output"].as_str() {
            self.path = self.stage.path("").join(output);
        }
        self.is_known |= report["operation"].is_string();
        report
    }

    /// Which of the items that `choices` choose.
    fn chosen(&self, choices: &[u8]) -> Vec<usize> {
        choices.iter().map(|choice| usize::from(*choice) % self.items.len()).collect()
    }

    fn do_it(&mut self, deed: &Deed, landing: Landing) {
        match deed {
            Deed::Discard(choices) => {
                let items = self.chosen(choices);
                let targets: Vec<String> = items.iter().map(|at| self.items[*at].target.clone()).collect();
                let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
                let run = self.run("discard", &targets, landing).ended(0);
                self.expect_cut(&items, &run);
            }
            Deed::Distill(choices) => {
                let items = self.chosen(choices);
                let targets: Vec<String> =
                    items.iter().map(|at| format!("{}=In short: {at}", self.items[*at].target)).collect();
                let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
                let run = self.run("distill", &targets, landing).ended(0);
                self.expect_cut(&items, &run);
            }
            Deed::Restore(choices) => self.restore(choices, landing),
            Deed::RestoreOp(choice) => self.undo(*choice, landing),
            Deed::Prune => {
                let before = self.text();
                let run = self.run("prune", &["--protect-steps", "0"], landing).ended(0);
                self.learn(&run, &before);
            }
            Deed::Compress => {
                let args = ["--bands", "0-60:heavy", "--include", "tool-results"];
                let before = self.text();
                let run = self.run("compress", &args, landing).ended(0);
                self.learn(&run, &before);
            }
            Deed::Truncate => {
                let before = self.text();
                let run = self.run("truncate", &["--target-tokens", "1500", "--tokens", "chars4"], landing).ended(0);
                self.learn(&run, &before);
            }
            Deed::Compact(keep) => {
                let keep = keep.to_string();
                let args =
                    ["--force", "--chunk-size", "3", "--clip-first", "1", "--clip-last", "1", "--keep-recent", &keep];
                let before = self.text();
                // `--force` stands for the place, too.
                let args = if landing == Landing::InPlace { &args[1..] } else { &args };
                let run = self.run("compact", args, landing).ended(0);
                self.learn(&run, &before);
            }
            Deed::RestoreAll => self.restore_all(landing),
            Deed::Append => self.append(),
        }
    }

    /// All operations are taken back.
    fn restore_all(&mut self, landing: Landing) {
        let landing = if landing == Landing::Session { Landing::File } else { landing };
        let run = self.run("restore", &["--all"], landing);
        if !self.is_known {
            assert_eq!(run.code, Some(1), "{}", run.text);
            return;
        }
        let report = self.take(&run.ended(0));
        let effect = Effect {
            back: std::mem::take(&mut self.cut),
            again: std::mem::take(&mut self.gone),
            batches: (std::mem::take(&mut self.batches), Vec::new()),
            boundary: (self.boundary.take(), None),
            ..Effect::default()
        };
        if let Some(id) = report["noted"].as_str() {
            self.operations.push(Effect { id: id.to_owned(), ..effect });
        }
    }

    /// All of `items` that are there and are not cut are cut now. One that looks like what a person wrote, as a summary
    /// does, may be cut once more.
    fn expect_cut(&mut self, items: &[usize], run: &Run) {
        let report = self.take(run);
        let expected: BTreeSet<usize> =
            items.iter().copied().filter(|at| !self.gone.contains(at) && !self.cut.contains(at)).collect();
        let rows = report["targets"].as_array().unwrap().iter().zip(items);
        let cut: BTreeSet<usize> = rows.filter(|(row, _)| row["outcome"] == "cut").map(|(_, at)| *at).collect();
        assert!(expected.is_subset(&cut), "{}", run.text);
        assert!(cut.difference(&expected).all(|at| self.cut.contains(at)), "{}", run.text);
        self.cut.extend(&cut);
        if let Some(id) = operation_of(&report) {
            self.note(Effect { id, cut, ..Effect::default() });
        }
    }

    /// Notes an operation that leaves the batches as they are.
    fn note(&mut self, effect: Effect) {
        let batches = (self.batches.clone(), self.batches.clone());
        let boundary = (self.boundary, self.boundary);
        self.operations.push(Effect { batches, boundary, ..effect });
    }

    /// Whether the item was cut before the operation at `at`.
    fn was_cut(&self, at: usize, item: usize) -> bool {
        let mut touching = self.operations[..at].iter().rev();
        touching.find(|it| it.cut.contains(&item) || it.back.contains(&item)).is_some_and(|it| it.cut.contains(&item))
    }

    fn restore(&mut self, choices: &[u8], landing: Landing) {
        let items = self.chosen(choices);
        let targets: Vec<String> = items.iter().map(|at| self.items[*at].target.clone()).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let run = self.run("restore", &targets, landing);
        if !self.is_known {
            assert_eq!(run.code, Some(1), "{}", run.text);
            return;
        }
        let back: BTreeSet<usize> =
            items.iter().copied().filter(|at| self.cut.contains(at) && !self.gone.contains(at)).collect();
        // Whether it was cut or not: it cannot come back alone, and it is said what brings it back.
        let is_gone = items.iter().any(|at| self.gone.contains(at));
        let n_explained = run.text.matches("brings").count() + run.text.matches("\"by\":\"").count();
        assert!(!is_gone || n_explained > 0, "{}", run.text);
        assert_eq!(run.code, Some(i32::from(back.is_empty() && is_gone)), "{}", run.text);
        let report = self.take(&run);
        assert_eq!(report["restored"], back.len(), "{}", run.text);
        for at in &back {
            self.cut.remove(at);
        }
        if let Some(id) = operation_of(&report) {
            self.note(Effect { id, back, ..Effect::default() });
        }
    }

    fn undo(&mut self, choice: u8, landing: Landing) {
        let Some(last) = self.operations.len().checked_sub(1) else { return };
        let at = usize::from(choice) % (last + 1);
        // The newest goes back to where its source is, unless a place is named.
        let landing = if at == last && landing == Landing::Session { Landing::File } else { landing };
        let Effect { id, cut, back, gone, again, batches, boundary } = self.operations[at].clone();
        let run = self.run("restore", &["--op", &id], landing);
        // What was done to what it inserted stands on it (N-06).
        if self.boundary.is_some_and(|made| made > at) {
            let is_refused = run.code == Some(1) && run.stderr.contains("was done to what it inserted");
            assert!(is_refused || gone.is_empty() && boundary.0 == boundary.1, "{}", run.text);
            if is_refused {
                return;
            }
        }
        // N-06: what is undone is not undone again.
        if run.code == Some(1) && run.stderr.contains("already") {
            return;
        }
        let run = run.ended(0);
        let report = self.take(&run);
        let later: BTreeSet<usize> =
            self.operations[at + 1..].iter().flat_map(|it| it.cut.union(&it.back)).copied().collect();
        let later_gone: BTreeSet<usize> =
            self.operations[at + 1..].iter().flat_map(|it| it.gone.union(&it.again)).copied().collect();
        let mut effect = Effect::default();
        let was_there = |item: &usize| !self.gone.contains(item);
        let items: Vec<usize> =
            cut.into_iter().chain(back).filter(|item| !later.contains(item)).filter(was_there).collect();
        for item in items {
            if self.was_cut(at, item) {
                effect.cut.extend(self.cut.insert(item).then_some(item));
            } else {
                effect.back.extend(self.cut.remove(&item).then_some(item));
            }
        }
        for item in gone.into_iter().filter(|item| !later_gone.contains(item)) {
            effect.again.extend(self.gone.remove(&item).then_some(item));
        }
        for item in again.into_iter().filter(|item| !later_gone.contains(item)) {
            effect.gone.extend(self.gone.insert(item).then_some(item));
        }
        let before = (self.batches.clone(), self.boundary);
        if boundary.0 != boundary.1 && self.boundary == boundary.1 {
            (self.batches, self.boundary) = (batches.0, boundary.0);
        }
        effect.batches = (before.0, self.batches.clone());
        effect.boundary = (before.1, self.boundary);
        // Behind a copy that has grown, the newest is an older one.
        let noted = report["noted"].as_str().map(str::to_owned).or_else(|| operation_of(&report));
        let is_nothing = effect.cut.len() + effect.back.len() + effect.gone.len() + effect.again.len() == 0
            && effect.boundary.0 == effect.boundary.1;
        assert!(noted.is_some() || is_nothing, "{}", run.text);
        if let Some(id) = noted {
            self.operations.push(Effect { id, ..effect });
        }
    }

    /// What a verb that chooses by itself has cut or taken out of what was `before`. What was cut already may be cut once
    /// more, such as a result that was compressed and is pruned then.
    fn learn(&mut self, run: &Run, before: &str) {
        let report = self.take(run);
        let Some(id) = operation_of(&report) else { return };
        let text = self.text();
        let is_there = |at: &usize| line_of(&text, &self.items[*at].uuid).is_some();
        let all = || 0..self.items.len();
        let gone: BTreeSet<usize> = all().filter(|at| !self.gone.contains(at) && !is_there(at)).collect();
        let has_changed = |item: &Item| shown(before, item) != shown(&text, item);
        let cut: BTreeSet<usize> = all()
            .filter(|at| !self.gone.contains(at) && !gone.contains(at))
            .filter(|at| has_changed(&self.items[*at]) && !is_original(&text, &self.items[*at]))
            .collect();
        self.cut.extend(&cut);
        self.gone.extend(&gone);
        let before = (self.batches.clone(), self.boundary);
        if let Some(batches) = report["batches"].as_array() {
            self.boundary = Some(self.operations.len());
            self.batches = batches.iter().map(|batch| batch["id"].as_str().unwrap().to_owned()).collect();
        } else if !text.contains("\"isCompactSummary\":true") {
            // The summary is the oldest message, and may be what is truncated.
            (self.batches, self.boundary) = (Vec::new(), None);
        }
        let (batches, boundary) = ((before.0, self.batches.clone()), (before.1, self.boundary));
        self.operations.push(Effect { id, batches, boundary, cut, gone, ..Effect::default() });
    }

    /// A client goes on.
    fn append(&mut self) {
        let text = self.text();
        let leaf = text.lines().rev().find_map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            entry["uuid"].as_str().map(str::to_owned)
        });
        self.n_files += 1;
        let n = self.n_files;
        let entry = json!({"parentUuid": leaf, "isSidechain": false, "sessionId": SESSION, "type": "user",
            "message": {"role": "user", "content": format!("More {n}")},
            "uuid": format!("{n:08x}-0000-4000-8000-0000000000ff"), "timestamp": format!("2026-01-02T00:00:{:02}.000Z", n % 60)});
        fs::write(&self.path, text + &entry.to_string() + "\n").unwrap();
        self.added.push(format!("\"More {n}\""));
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    /// Holds the file against the model.
    fn hold(&self, deed: &Deed) {
        let text = self.text();
        for (at, item) in self.items.iter().enumerate() {
            let line = line_of(&text, &item.uuid);
            assert_eq!(line.is_none(), self.gone.contains(&at), "{deed:?}: {item:?}");
            if line.is_some() {
                let is_cut = self.cut.contains(&at);
                assert_eq!(is_original(&text, item), !is_cut, "{deed:?}: {item:?} in {line:?}");
            }
        }
        let check = self.stage.run(["check", self.path.to_str().unwrap()]);
        assert_eq!(check.code, Some(0), "{deed:?}: {}", check.text);
        let list = ["archive", "list", "--kind", "batch", "--limit", "100", "--json", "--session"];
        if self.is_known && self.operations.iter().any(|it| it.batches.0 != it.batches.1) {
            let listed = self.stage.run([&list[..], &[self.path.to_str().unwrap()]].concat()).ended(0).json();
            let mut listed: Vec<&str> =
                listed["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
            listed.reverse();
            let short: Vec<&str> = self.batches.iter().map(|batch| &batch[..12]).collect();
            assert_eq!(listed, short, "{deed:?}");
        }
    }

    /// The source comes back byte for byte, what a client has added behind it.
    fn end(&self) {
        if self.operations.is_empty() {
            return;
        }
        let path = self.path.to_str().unwrap();
        self.stage.run(["restore", path, "--all", "-o", "back.jsonl", "--force"]).ended(0);
        let back = self.stage.bytes("back.jsonl");
        assert!(back.starts_with(&self.source), "P-05: the source does not come back");
        assert!(!self.added.is_empty() || back == self.source, "P-05: more than the source comes back");
        let back = String::from_utf8(back).unwrap();
        for added in &self.added {
            assert!(back.contains(added), "P-05: {added} does not come back");
        }
    }
}

/// The operation that changed something; a copy is none.
fn operation_of(report: &Value) -> Option<String> {
    report["operation"].as_str().filter(|_| report["unchanged"].is_null()).map(str::to_owned)
}

fn line_of<'t>(text: &'t str, uuid: &str) -> Option<&'t str> {
    let uuid = format!("\"uuid\":\"{uuid}\"");
    text.lines().find(|line| line.contains(&uuid))
}

/// What stands in the place of the item: its text blocks or results, and what the client keeps of them.
fn shown(text: &str, item: &Item) -> Option<(Value, Value)> {
    let entry: Value = serde_json::from_str(line_of(text, &item.uuid)?).unwrap();
    let content = match &entry["message"]["content"] {
        Value::Array(blocks) => {
            let is_shown = |block: &&Value| block["type"] == "text" || block["type"] == "tool_result";
            blocks.iter().filter(is_shown).cloned().collect()
        }
        other => other.clone(),
    };
    Some((content, entry["toolUseResult"].clone()))
}

fn is_original(text: &str, item: &Item) -> bool {
    line_of(text, &item.uuid).is_some_and(|line| item.raw.iter().all(|raw| line.contains(raw)))
}

proptest! {
    // The same cases each time; more, and others, when asked for.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 60,
        rng_seed: if std::env::var_os("PROPTEST_CASES").is_some() { RngSeed::Random } else { RngSeed::Fixed(3) },
        ..ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(16)
    ) })]

    // P-03, P-04, P-05, A-06
    #[test]
    fn p_05_any_ten_cuts_and_restores_end_where_they_should(
        parts in prop::collection::vec(part(), 2..14),
        deeds in prop::collection::vec(deed(), 10),
    ) {
        play(&parts, &deeds);
    }
}

// P-05: on every file of the corpus a handful.
#[test]
fn p_05_every_transcript_comes_back_from_a_handful_of_cuts() {
    for path in corpus() {
        let source = fs::read(&path).unwrap();
        let stage = Stage::new().file("in.jsonl", &source);
        let refs = stage.run(["refs", "in.jsonl", "--json", "--messages"]);
        if refs.code != Some(0) {
            continue;
        }
        let refs = refs.json();
        let calls = refs["calls"].as_array().unwrap().iter().filter(|call| call["state"] == "live");
        let handles: Vec<&str> = calls.filter_map(|call| call["handle"].as_str()).collect();
        let texts = refs["messages"].as_array().unwrap().iter();
        let patterns: Vec<&str> = texts.filter_map(|text| text["pattern"].as_str()).collect();
        let some = |all: &[&str], from: usize| -> Vec<String> {
            let step = (all.len() / 4).max(1);
            all.iter().skip(from).step_by(step).map(|it| (*it).to_owned()).collect()
        };
        let first = [some(&handles, 0), some(&patterns, 0)].concat();
        let second = [some(&handles, 1), some(&patterns, 1)].concat();
        if first.is_empty() || second.is_empty() {
            continue;
        }
        let run = |verb: &str, input: &str, targets: &[String], more: &[&str]| {
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            stage.run([&[verb, input, "--all-matches", "--force"], more, &["--"], &targets].concat())
        };
        let discard = run("discard", "in.jsonl", &first, &["-o", "1.jsonl", "--json"]);
        assert_eq!(discard.code, Some(0), "{}: {}", path.display(), discard.text);
        if discard.json()["output"].is_null() {
            continue;
        }
        let summaries: Vec<String> = second.iter().map(|it| format!("{it}=In short.")).collect();
        let distill = run("distill", "1.jsonl", &summaries, &["-o", "2.jsonl"]);
        assert_eq!(distill.code, Some(0), "{}: {}", path.display(), distill.text);
        let operation = discard.json()["operation"].as_str().unwrap().to_owned();
        let older = stage.run(["restore", "2.jsonl", "--op", &operation, "-o", "3.jsonl", "--force"]);
        assert_eq!(older.code, Some(0), "{}: {}", path.display(), older.text);
        let items = run("restore", "2.jsonl", &first, &["-o", "4.jsonl"]);
        assert_eq!(items.code, Some(0), "{}: {}", path.display(), items.text);
        for name in ["1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl"] {
            let check = stage.run(["check", name, "--against", "in.jsonl"]);
            assert_eq!(check.code, Some(0), "{}, {name}: {}", path.display(), check.text);
            stage.run(["restore", name, "--all", "-o", "back.jsonl", "--force"]).ended(0);
            assert!(stage.bytes("back.jsonl") == source, "P-05: {}, {name}", path.display());
        }
    }
}

// P-05: sequences that random seeds have found. An entry of thinking and text whose text is given back, behind a change.
#[test]
fn p_05_a_text_beside_thinking_is_given_back() {
    play(
        &[
            Part::Answer { thinking: true, text: false, calls: vec![], one_line: true },
            Part::Prompt { blocks: 0 },
            Part::Answer { thinking: false, text: true, calls: vec![0], one_line: false },
        ],
        &[
            (Deed::Distill(vec![5, 1, 4, 2]), Landing::InPlace),
            (Deed::Discard(vec![0]), Landing::InPlace),
            (Deed::Restore(vec![0, 2, 1]), Landing::Session),
        ],
    );
}

// P-05: an older operation is undone, and what a later one has brought back stays on the chain.
#[test]
fn p_05_what_a_later_operation_brought_back_stays_where_it_hangs() {
    play(
        &[Part::Prompt { blocks: 2 }, Part::Answer { thinking: false, text: false, calls: vec![], one_line: false }],
        &[
            (Deed::Truncate, Landing::InPlace),
            (Deed::Compress, Landing::InPlace),
            (Deed::RestoreOp(0), Landing::InPlace),
            (Deed::RestoreOp(1), Landing::InPlace),
            (Deed::Discard(vec![0, 2]), Landing::InPlace),
        ],
    );
}

// P-05, S-05: what was undone already is not undone again, and thinking that a later cut took stays away.
#[test]
fn p_05_an_operation_is_not_undone_twice() {
    let stage = Stage::new().file("0.jsonl", crate::stage::fixture("session-small"));
    let pruned = stage.run(["prune", "0.jsonl", "-o", "1.jsonl", "--json"]).ended(0).json();
    let id = pruned["operation"].as_str().unwrap();
    stage.run(["restore", "1.jsonl", "--op", id, "-o", "2.jsonl"]).ended(0);
    assert!(stage.bytes("2.jsonl") == stage.bytes("0.jsonl"));
    stage.run(["truncate", "2.jsonl", "--target-tokens", "9000", "--tokens", "chars4", "-o", "3.jsonl"]).ended(0);
    // N-06
    let again = stage.run(["restore", "3.jsonl", "--op", id, "-o", "4.jsonl"]).ended(1);
    assert!(again.stderr.contains("has undone it already"), "{}", again.text);
    assert!(!stage.names().contains(&"4.jsonl".to_owned()));
}

fn play(parts: &[Part], deeds: &[(Deed, Landing)]) {
    let mut model = Model::new(parts);
    for (deed, landing) in deeds {
        model.do_it(deed, *landing);
        model.hold(deed);
    }
    model.end();
}

// P-05, F-06: a compaction that others came after is undone.
#[test]
fn p_05_compactions_are_undone_in_any_order() {
    let parts = [
        Part::Prompt { blocks: 1 },
        Part::Answer { thinking: true, text: true, calls: vec![0, 3], one_line: false },
        Part::Prompt { blocks: 0 },
        Part::Answer { thinking: false, text: true, calls: vec![1], one_line: true },
        Part::Prompt { blocks: 2 },
    ];
    for first in 0..3 {
        for second in 0..6 {
            play(
                &parts,
                &[
                    (Deed::Compact(4), Landing::InPlace),
                    (Deed::Discard(vec![7]), Landing::File),
                    (Deed::Append, Landing::InPlace),
                    (Deed::Compact(2), Landing::File),
                    (Deed::RestoreOp(first), Landing::File),
                    (Deed::Append, Landing::InPlace),
                    (Deed::RestoreOp(second), Landing::InPlace),
                ],
            );
        }
    }
}

// P-05: an item that came back, and was compacted away then, is cut again; what stands behind the summary stays there.
#[test]
fn p_05_what_hangs_on_a_later_summary_stays_on_it() {
    play(
        &[Part::Prompt { blocks: 0 }, Part::Prompt { blocks: 0 }],
        &[
            (Deed::Discard(vec![12]), Landing::InPlace),
            (Deed::Restore(vec![0]), Landing::InPlace),
            (Deed::Distill(vec![251, 5]), Landing::InPlace),
            (Deed::Discard(vec![126]), Landing::InPlace),
            (Deed::Compact(1), Landing::InPlace),
            (Deed::Restore(vec![219]), Landing::InPlace),
            (Deed::RestoreOp(37), Landing::InPlace),
        ],
    );
}
