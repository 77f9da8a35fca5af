//! Ending a tool loop that is still open, so that its thinking can go (S-05, `--close-loop`).

use std::fs::File;
use std::io;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::entry_fields::{envelope, field};
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

/// The assistant entry that ends the open tool loop: a child of the last live entry, with its envelope, and a
/// millisecond newer, so that clients that go by time go on from it. `None` when a call of the last message has no
/// result: the loop ends only behind all of them.
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
    let envelope = envelope(line);
    let result_time = field(line, "timestamp");
    let mut buffer = Vec::new();
    let parent_time = field(read_line(file, index, tip, &mut buffer)?, "timestamp");
    let timestamp = later(result_time, parent_time);
    let id = format!("{ANSWER}{}", uuid.simple());
    let parent = json_string::encode(&parent);
    let text = json_string::encode(TEXT);
    Ok(Some(format!(
        r#"{{"parentUuid":{parent},{envelope}"type":"assistant","message":{{"id":"{id}","type":"message","role":"assistant","model":"<synthetic>","content":[{{"type":"text","text":{text}}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}},"uuid":"{uuid}","timestamp":{timestamp}}}"#
    )))
}

/// The later of two times, as they stand in JSON, and a millisecond more; as it is where neither is a time.
fn later(left: Option<String>, right: Option<String>) -> String {
    let time = |raw: &String| raw.trim_matches('"').parse::<Timestamp>().ok();
    let latest = [&left, &right].into_iter().flatten().filter_map(time).max();
    let next = latest.and_then(|time| time.checked_add(SignedDuration::from_millis(1)).ok());
    match next {
        Some(next) => format!("\"{next:.3}\""),
        None => left.or(right).unwrap_or_else(|| "null".to_owned()),
    }
}

/// Whether every call that the conversation ends in has its result: those of the last message, and of the ones that the
/// API takes as one with it.
fn all_are_answered(index: &Index, chain: &Chain) -> bool {
    let mut problems = Vec::new();
    check_pairs(index, chain, &mut problems);
    !problems.iter().any(|problem| problem.kind == ProblemKind::InterruptedCall)
}

#[cfg(test)]
mod tests {
    use super::*;

    // S-05
    #[test]
    fn s_05_the_entry_is_a_millisecond_newer_than_what_it_hangs_on() {
        let time = |text: &str| Some(format!("\"{text}\""));
        let cases = [
            (time("2026-01-01T00:00:01.999Z"), time("2026-01-01T00:00:01.250Z"), "\"2026-01-01T00:00:02.000Z\""),
            (time("2026-01-01T00:00:01Z"), None, "\"2026-01-01T00:00:01.001Z\""),
            (Some("7".to_owned()), None, "7"),
            (None, None, "null"),
        ];
        for (left, right, expected) in cases {
            assert_eq!(later(left, right), expected);
        }
    }
}
