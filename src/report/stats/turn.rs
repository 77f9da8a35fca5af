//! Statistics by turn.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::estimates::Estimates;
use ctxc_transcript::scan::{BlockKind, Scan};
use ctxc_transcript::text::json_string;
use ctxc_transcript::{Calibration, Chain, Index, PromptKind, TurnIdx, context_tokens, find_turns};

/// The maximum length of a quoted prompt, in characters.
const QUOTE: usize = 48;
/// The number of bytes decoded for it: enough for characters of any width, escaped, after some white space.
const QUOTE_BYTES: usize = 1024;

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct TurnRow {
    /// The number of the turn, from 0.
    pub(crate) turn: TurnIdx,
    /// The line of its prompt, from 1.
    pub(crate) line: u32,
    /// The number of active entries.
    pub(crate) entries: u64,
    /// The number of assistant messages.
    pub(crate) steps: u64,
    /// Its tokens, without signatures.
    pub(crate) tokens: Estimates,
    /// The beginning of the prompt.
    pub(crate) prompt: String,
}

/// A row for each turn; prompts are not quoted yet.
pub(super) fn turn_rows(index: &Index, chain: &Chain, calibration: &Calibration) -> Vec<TurnRow> {
    let rows = find_turns(index, chain).into_iter().enumerate().map(|(at, turn)| {
        let lines = turn.lines(chain);
        let messages: HashSet<_> = lines.iter().filter_map(|&line| index.record(line).message_idx()).collect();
        let tokens = lines.iter().map(|&line| context_tokens(index, line)).sum();
        TurnRow {
            turn: TurnIdx(at),
            line: lines.first().map_or(0, |line| line.one_based()),
            entries: lines.len() as u64,
            steps: messages.len() as u64,
            tokens: Estimates::of(tokens, calibration),
            prompt: String::new(),
        }
    });
    rows.collect()
}

impl TurnRow {
    /// Sets the quote of the prompt from its entry.
    pub(super) fn set_prompt(&mut self, scan: &Scan, line: &[u8]) {
        let blocks = scan.outer_blocks().filter(|block| block.kind == BlockKind::Text);
        let mut texts = blocks.filter_map(|block| block.text?.string_in(line));
        let typed =
            scan.string_content(line).or_else(|| texts.find(|text| PromptKind::of_text(text) != PromptKind::No));
        let Some(raw) = typed else { return };
        let head = raw.get(..QUOTE_BYTES).unwrap_or(raw);
        let text = json_string::decode(head);
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        let is_cut = words.chars().count() > QUOTE || head.len() < raw.len();
        self.prompt = words.chars().take(QUOTE).collect();
        if is_cut {
            self.prompt.push('…');
        }
    }
}
