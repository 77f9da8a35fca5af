//! The tool calls that a transcript ends in and that have no result yet, read off the end of the file alone.
//!
//! A client writes a call down before it makes it, so whose call a running one is shows here. Knows nothing of the
//! live chain: what is at work is at the end.

use std::io::{self, Read, Seek, SeekFrom};

use super::scan::{BlockKind, EntryKind, Scan};
use crate::text::json_string;

/// The number of bytes read from the end of the file. Parameters of a call are shorter; a call that begins before them is
/// not seen.
const TAIL: u64 = 8 * 1024 * 1024;

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its parameters as JSON.
    pub input: String,
}

/// The calls of the last assistant message in `file` that have no result, in their order. A line that is still being
/// written does not count.
///
/// # Errors
/// When the file cannot be read.
pub fn open_calls(mut file: impl Read + Seek) -> io::Result<Vec<OpenCall>> {
    let len = file.seek(SeekFrom::End(0))?;
    let start = len.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let whole = memchr::memrchr(b'\n', &tail).and_then(|at| tail.get(..at)).unwrap_or_default();
    // The first line may have begun before.
    let lines = whole.split(|byte| *byte == b'\n').skip(usize::from(start > 0));
    let mut open: Vec<OpenCall> = Vec::new();
    let mut message = None;
    let mut scan = Scan::default();
    for line in lines {
        scan.read(line);
        if scan.is_sidechain {
            continue;
        }
        let string = |span: Option<super::Span>| span.and_then(|it| it.string_in(line)).map(json_string::decode);
        let text = |span| string(span).unwrap_or_default().into_owned();
        if scan.kind == EntryKind::Assistant {
            let id = string(scan.message.and_then(|message| message.id)).map(std::borrow::Cow::into_owned);
            // Calls that an earlier message left open were interrupted.
            if id.is_none() || message != id {
                open.clear();
                message = id;
            }
        }
        for block in scan.outer_blocks() {
            let is_call = (scan.kind, block.kind) == (EntryKind::Assistant, BlockKind::ToolUse);
            if is_call || (scan.kind, block.kind) == (EntryKind::User, BlockKind::ToolResult) {
                let id = text(block.tool_id);
                open.retain(|call| call.id != id);
                if is_call {
                    let input = block.input.map(|input| String::from_utf8_lossy(input.of(line)).into_owned());
                    open.push(OpenCall { id, tool: text(block.name), input: input.unwrap_or_default() });
                }
            }
        }
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn call(message: &str, id: &str, tool: &str) -> String {
        format!(
            r#"{{"parentUuid":null,"type":"assistant","message":{{"id":"{message}","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{"a":1}}}}]}},"uuid":"u-{id}"}}"#
        )
    }

    fn result(id: &str) -> String {
        format!(
            r#"{{"parentUuid":null,"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"x"}}]}},"uuid":"r-{id}"}}"#
        )
    }

    fn open(lines: &[String]) -> Vec<String> {
        let text = lines.join("\n") + "\n";
        open_calls(Cursor::new(text)).unwrap().into_iter().map(|call| call.id).collect()
    }

    // M-03
    #[test]
    fn m_03_the_calls_of_the_last_message_without_a_result_are_open() {
        assert_eq!(open(&[]), [""; 0]);
        assert_eq!(open(&[call("m1", "a", "Read"), result("a")]), [""; 0]);
        assert_eq!(open(&[call("m1", "a", "Read"), call("m1", "b", "Read"), result("a")]), ["b"]);
        // The results of parallel calls stand among them.
        assert_eq!(open(&[call("m1", "a", "Read"), result("a"), call("m1", "b", "Read")]), ["b"]);
        // An earlier one was interrupted.
        assert_eq!(open(&[call("m1", "a", "Read"), call("m2", "b", "Read")]), ["b"]);
    }

    // M-03
    #[test]
    fn m_03_a_line_that_is_being_written_does_not_count() {
        let text = format!("{}\n{}", call("m1", "a", "Read"), call("m1", "b", "Read"));
        let open = open_calls(Cursor::new(text)).unwrap();
        assert_eq!(open, [OpenCall { id: "a".to_owned(), tool: "Read".to_owned(), input: r#"{"a":1}"#.to_owned() }]);
    }
}
