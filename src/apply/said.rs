//! Messages as a summariser gets them: what was said in full, what tools did in a few lines.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use jiff::Timestamp;

use super::cut::Page;
use super::describe::Described;
use super::input::Input;
use super::lines::each_line;
use crate::engine::{Said, digest};
use crate::text::Tokens;
use crate::transcript::scan::{BlockKind, Kind};
use crate::transcript::{Index, LineNo, Prompt, entry};

/// What was said in one line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The line.
    pub line: LineNo,
    /// When it was said, where the line tells.
    pub time: Option<Timestamp>,
    /// What was said, in order; nothing where the line has only what no summary needs.
    pub said: Vec<Said>,
}

/// The most that is told of a tool result.
const RESULT: Tokens = Tokens(60);
/// The most characters that are told of a tool call.
const CALL: usize = 160;

/// What was said in `lines`, which stand in the order of the conversation; one remark for each. Results know their calls
/// where these are in the same lines: so lines are best read a whole chunk at a time. The memory follows what is told.
///
/// # Errors
/// When the source cannot be read.
pub fn read_said(file: &File, index: &Index, lines: &[LineNo]) -> io::Result<Vec<Remark>> {
    let mut remarks = Vec::new();
    let mut calls: HashMap<String, String> = HashMap::new();
    each_line(file, index, lines, |page| {
        let said = said_in(page, &mut calls);
        let time = page.decoded(page.scan.timestamp).parse().ok();
        remarks.push(Remark { line: page.line, time, said });
    })?;
    Ok(remarks)
}

fn said_in(page: Page<'_>, calls: &mut HashMap<String, String>) -> Vec<Said> {
    let say = |speaker: &str, text: String| {
        let text = text.trim();
        (!text.is_empty()).then(|| Said { speaker: speaker.to_owned(), text: text.to_owned() })
    };
    let (scan, line) = (page.scan, page.bytes);
    match scan.kind {
        Kind::User if scan.is_compact_summary => say("summary", entry::text(scan, line)).into_iter().collect(),
        Kind::User => {
            let results = entry::tool_results(scan, line).into_iter();
            let mut told = |(at, text): (usize, String)| {
                let call = page.call(at).and_then(|id| calls.remove(&id));
                format!("{}\n{}", call.unwrap_or_default(), digest(&text, RESULT))
            };
            let mut said: Vec<Said> = results.filter_map(|result| say("tool", told(result))).collect();
            if Prompt::of(scan, line) != Prompt::No {
                said.extend(say("user", entry::text(scan, line)));
            }
            said
        }
        Kind::Assistant => {
            let folder = page.folder();
            for block in scan.outer_blocks().filter(|block| block.kind == BlockKind::ToolUse) {
                let input = Input(block.input.map_or(&[][..], |it| it.of(line)));
                let (tool, id) = (page.decoded(block.name), page.decoded(block.tool_id));
                let argument = input.key_argument(folder.as_deref());
                calls.insert(id.clone(), Described { tool, id, argument }.brief(CALL));
            }
            say("assistant", entry::text(scan, line)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
