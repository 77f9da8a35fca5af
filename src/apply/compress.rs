//! Compressing: texts read for their tasks, and outcomes turned into edits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use super::Rewrite;
use crate::plan::{Candidate, Task, TaskPart};
use crate::run::Outcome;
use crate::text::Tokens;
use crate::transcript::edit::{replace_text, replace_tool_result};
use crate::transcript::entry;
use crate::transcript::scan::Scan;
use crate::transcript::{Index, LineNo, read_line};

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
    let mut by_line: BTreeMap<LineNo, Vec<(TaskPart, &str)>> = BTreeMap::new();
    for (task, outcome) in tasks.iter().zip(outcomes) {
        if let Outcome::Compressed { text, .. } = outcome {
            by_line.entry(task.line).or_default().push((task.part, text));
        }
    }
    let mut buffer = Vec::new();
    let mut scan = Scan::default();
    for (line_no, texts) in by_line {
        let line = read_line(file, index, line_no, &mut buffer)?;
        scan.read(line);
        for (part, text) in texts {
            let splices = match part {
                TaskPart::Text => replace_text(&scan, line, text),
                TaskPart::ToolResult(at) => replace_tool_result(&scan, line, at, text),
            };
            rewrite.edit(line_no, splices.into_iter().flatten());
        }
    }
    Ok(())
}
