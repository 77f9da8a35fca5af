//! Compressing: texts read for their tasks, and outcomes turned into edits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use super::Rewrite;
use crate::archive::Cut;
use crate::plan::{Candidate, Task, TaskPart};
use crate::run::Outcome;
use crate::text::{Tokens, json_string};
use crate::transcript::edit::{replace_text, replace_tool_result};
use crate::transcript::entry;
use crate::transcript::scan::Scan;
use crate::transcript::{Index, LineNo, Span, read_line};

/// The texts that are to be compressed.
#[derive(Debug, Default)]
pub struct Tasks {
    /// One task for each text of at least the minimum.
    pub tasks: Vec<Task>,
    /// How many texts are shorter.
    pub n_skipped: u64,
}

/// Reads the texts of `candidates` (B-04).
///
/// # Errors
/// When the source cannot be read.
pub fn read_tasks(file: &File, index: &Index, candidates: &[Candidate], min_tokens: Tokens) -> io::Result<Tasks> {
    let mut tasks = Tasks::default();
    let mut buffer = Vec::new();
    let mut scan = Scan::default();
    for candidate in candidates {
        let line = read_line(file, index, candidate.line, &mut buffer)?;
        scan.read(line);
        let mut texts = Vec::new();
        if candidate.wants_text {
            texts.push((TaskPart::Text, entry::text(&scan, line)));
        }
        if candidate.wants_results {
            let results = entry::tool_results(&scan, line).into_iter();
            texts.extend(results.map(|(at, text)| (TaskPart::ToolResult(at), text)));
        }
        for (part, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            match Task::new(candidate, part, text, min_tokens) {
                Some(task) => tasks.tasks.push(task),
                None => tasks.n_skipped += 1,
            }
        }
    }
    Ok(tasks)
}

/// Adds to `rewrite` an edit for every task that has a shorter text.
///
/// # Errors
/// When the source cannot be read.
pub fn add_edits(
    file: &File,
    index: &Index,
    tasks: &[Task],
    outcomes: &[Outcome],
    rewrite: &mut Rewrite,
) -> io::Result<()> {
    let mut by_line: BTreeMap<LineNo, Vec<(&Task, &str, Tokens)>> = BTreeMap::new();
    for (task, outcome) in tasks.iter().zip(outcomes) {
        if let Outcome::Compressed { text, tokens } = outcome {
            by_line.entry(task.line).or_default().push((task, text, *tokens));
        }
    }
    let mut buffer = Vec::new();
    let mut scan = Scan::default();
    for (line_no, texts) in by_line {
        let line = read_line(file, index, line_no, &mut buffer)?;
        scan.read(line);
        let uuid = decoded(scan.uuid, line);
        for (task, text, tokens) in texts {
            let (splices, call) = match task.part {
                TaskPart::Text => (replace_text(&scan, line, text), None),
                TaskPart::ToolResult(at) => {
                    let call = scan.blocks.get(at).map(|block| decoded(block.tool_id, line));
                    (replace_tool_result(&scan, line, at, text), call)
                }
            };
            let Some(splices) = splices else { continue };
            rewrite.edit(line_no, splices);
            let name = call.clone().unwrap_or_else(|| beginning(&task.text));
            let rule = "compress".to_owned();
            rewrite.cut(line_no, Cut { uuid: uuid.clone(), call, name, rule, before: task.tokens, after: tokens });
        }
    }
    Ok(())
}

/// The text of a JSON string in `line`; empty where there is none.
fn decoded(span: Option<Span>, line: &[u8]) -> String {
    let raw = span.and_then(|span| span.string(line)).unwrap_or_default();
    json_string::decode(raw).into_owned()
}

/// How many characters of a text name it.
const NAME_LEN: usize = 48;

/// The words that `text` begins with, by which people know it.
fn beginning(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= NAME_LEN {
        return words;
    }
    words.chars().take(NAME_LEN - 1).chain(['…']).collect()
}
