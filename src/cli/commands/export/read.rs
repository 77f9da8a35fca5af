//! The texts of a session for an export, from its active entries. Memory use depends on the longest line.

use std::collections::HashMap;

use serde_json::Value;

use crate::report::export::{Piece, Spent};
use crate::session::error::CommandError;
use crate::session::reading::Reading;
use crate::terminal::ui::Ui;
use ctxc_core::apply::{Speaker, read_shown_texts};
use ctxc_store::DocumentKind;
use ctxc_transcript::text::{StopRequested, chars4_tokens};
use ctxc_transcript::{LineNo, find_turns, read_line, turn_at};

/// Calls `take` with each text of the active entries, in order.
///
/// # Errors
/// When the session cannot be read, and those of `take`.
pub(super) fn each_piece(
    reading: &Reading,
    ui: &Ui,
    mut take: impl FnMut(Piece) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let turns = find_turns(&reading.index, &reading.chain);
    let mut reader = Reader::default();
    let mut buffer = Vec::new();
    for (place, &line) in reading.chain.lines.iter().enumerate() {
        StopRequested::check_flag(ui.stop())?;
        let turn = turn_at(&turns, place).map(|turn| turn.0);
        let bytes = reading.named(read_line(&reading.file, &reading.index, line, &mut buffer))?;
        // A line that is not JSON has no text, and is not part of the chain.
        let entry: Value = serde_json::from_slice(bytes).unwrap_or_default();
        for piece in reading.named(reader.pieces(&entry, reading, line))? {
            take(Piece { turn, ..piece })?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Reader {
    /// The number of messages of the model so far, and the id of the last one.
    n_steps: u64,
    message: Option<String>,
    /// The tool and the step of each call, by call id.
    calls: HashMap<String, (String, u64)>,
}

impl Reader {
    fn pieces(&mut self, entry: &Value, reading: &Reading, line: LineNo) -> std::io::Result<Vec<Piece>> {
        let shown = read_shown_texts(&reading.file, &reading.index, line)?;
        let message = field(entry, "message");
        let blank = Piece {
            turn: None,
            step: None,
            role: Speaker::System,
            kind: "other",
            tool: None,
            call: None,
            text: String::new(),
            tokens: chars4_tokens(""),
            time: string(field(entry, "timestamp")),
            model: None,
            client: string(field(entry, "version")),
            spent: None,
        };
        let is_of_client = shown.iter().any(|shown| shown.speaker == Speaker::System);
        if field(entry, "type") == "assistant" && !is_of_client {
            return Ok(self.of_model(message, &blank));
        }
        let mut pieces = self.results(message, &blank);
        pieces.extend(shown.into_iter().filter(|shown| shown.kind != DocumentKind::ToolResult).map(|shown| Piece {
            step: (self.n_steps > 0 && shown.speaker != Speaker::User).then_some(self.n_steps),
            role: shown.speaker,
            kind: if shown.speaker == Speaker::User { "prompt" } else { "other" },
            tokens: chars4_tokens(&shown.text),
            text: shown.text,
            ..blank.clone()
        }));
        Ok(pieces)
    }

    fn of_model(&mut self, message: &Value, blank: &Piece) -> Vec<Piece> {
        let id = string(field(message, "id"));
        if id.is_none() || id != self.message {
            self.n_steps += 1;
            self.message = id;
        }
        let blank = Piece {
            step: Some(self.n_steps),
            role: Speaker::Assistant,
            model: string(field(message, "model")),
            spent: spent(field(message, "usage")),
            ..blank.clone()
        };
        let mut pieces = Vec::new();
        let mut add = |kind, text: String, tool, call| {
            pieces.push(Piece { kind, tokens: chars4_tokens(&text), text, tool, call, ..blank.clone() });
        };
        if let Some(text) = field(message, "content").as_str() {
            add("answer", text.to_owned(), None, None);
        }
        for block in field(message, "content").as_array().into_iter().flatten() {
            match (field(block, "type").as_str(), string(field(block, "text")), string(field(block, "thinking"))) {
                (Some("text"), Some(text), _) if !text.trim().is_empty() => add("answer", text, None, None),
                (Some("thinking"), _, Some(text)) if !text.trim().is_empty() => add("thinking", text, None, None),
                (Some("tool_use" | "server_tool_use" | "mcp_tool_use"), ..) => {
                    let (tool, id) = (string(field(block, "name")).unwrap_or_default(), string(field(block, "id")));
                    self.calls.extend(id.clone().map(|id| (id, (tool.clone(), self.n_steps))));
                    add("call", field(block, "input").to_string(), Some(tool), id);
                }
                _ => {}
            }
        }
        pieces
    }

    fn results(&self, message: &Value, blank: &Piece) -> Vec<Piece> {
        let blocks = field(message, "content").as_array().into_iter().flatten();
        let results = blocks.filter(|block| field(block, "type") == "tool_result");
        let piece = |block: &Value| {
            let call = string(field(block, "tool_use_id"));
            let made = call.as_ref().and_then(|id| self.calls.get(id));
            let text = result_text(field(block, "content"));
            Piece {
                step: made.map(|(_, step)| *step),
                role: Speaker::Tool,
                kind: "tool_result",
                tool: made.map(|(tool, _)| tool.clone()),
                call,
                tokens: chars4_tokens(&text),
                text,
                ..blank.clone()
            }
        };
        results.map(piece).collect()
    }
}

/// The value of `name` in `object`; null if `object` is not an object or lacks it.
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The texts of a result; other blocks are replaced by their type.
fn result_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.map(|block| match (string(field(block, "text")), field(block, "type").as_str()) {
        (Some(text), _) => text,
        (None, kind) => format!("[{}]", kind.unwrap_or("unknown")),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn spent(usage: &Value) -> Option<Spent> {
    let count = |name: &str| field(usage, name).as_u64().unwrap_or(0);
    let (read, written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let prompt = count("input_tokens").saturating_add(read).saturating_add(written);
    usage.is_object().then(|| Spent { prompt, cached: read, completion: count("output_tokens") })
}
