//! Ending a tool loop that is still open, so that its thinking can go (S-05, `--close-loop`).

use std::fs::File;
use std::io;

use uuid::Uuid;

use super::pairing::check_pairs;
use super::pointers::uuid_of;
use super::problem::ProblemKind;
use crate::text::json_string;
use crate::transcript::scan::Kind;
use crate::transcript::{Chain, Flags, Index, LineNo, read_line};

/// What the entry says.
const TEXT: &str = "(The transcript was compressed here. I go on from the results above.)";

/// What the id of a message begins with that ctxc wrote.
pub(super) const ANSWER: &str = "msg_ctxc_";

/// The assistant entry that ends the open tool loop: a child of the last live entry, with its envelope and time, so
/// that it does not pass for newer. `None` when a call of the last message has no result: the loop ends only behind
/// all of them.
///
/// # Errors
/// When the source cannot be read.
pub(super) fn closing_entry(file: &File, index: &Index, chain: &Chain) -> io::Result<Option<String>> {
    let Some(tip) = chain.lines.last().copied() else { return Ok(None) };
    let is_result = |line: LineNo| {
        let record = index.record(line);
        record.kind == Kind::User && record.flags.any(Flags::TOOL_RESULT)
    };
    let last = chain.messages(index).next_back().filter(|(_, line)| is_result(*line));
    let Some((_, last)) = last.filter(|_| all_are_answered(index, chain)) else { return Ok(None) };
    let parent = uuid_of(file, index, tip)?;
    let mut buffer = Vec::new();
    let line = read_line(file, index, last, &mut buffer)?;
    let uuid = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("ctxc close-loop {parent}").as_bytes());
    let (envelope, timestamp) = envelope(line);
    let id = format!("{ANSWER}{}", uuid.simple());
    let parent = json_string::encode(&parent);
    let text = json_string::encode(TEXT);
    Ok(Some(format!(
        r#"{{"parentUuid":{parent},{envelope}"type":"assistant","message":{{"id":"{id}","type":"message","role":"assistant","model":"<synthetic>","content":[{{"type":"text","text":{text}}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}},"uuid":"{uuid}","timestamp":{timestamp}}}"#
    )))
}

/// The fields of `line` that an entry beside it has too, each with a comma behind it, and the value of its timestamp.
pub(super) fn envelope(line: &[u8]) -> (String, String) {
    let mut envelope = String::new();
    for key in ["isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId", "slug"] {
        if let Some(value) = field(line, key) {
            envelope.extend(["\"", key, "\":", &value, ","]);
        }
    }
    (envelope, field(line, "timestamp").unwrap_or_else(|| "null".to_owned()))
}

/// Whether every call that the conversation ends in has its result: those of the last message, and of the ones that the
/// API takes as one with it.
fn all_are_answered(index: &Index, chain: &Chain) -> bool {
    let mut problems = Vec::new();
    check_pairs(index, chain, &mut problems);
    !problems.iter().any(|problem| problem.kind == ProblemKind::InterruptedCall)
}

/// The raw value of a top-level field.
fn field(line: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    crate::transcript::scan::each_field(line, |key, value| {
        if key == name.as_bytes() {
            found = Some(String::from_utf8_lossy(value.of(line)).into_owned());
        }
    });
    found
}
