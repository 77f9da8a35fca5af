//! Utterances of a buffer.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::buffer::Utterance;
use crate::report::archive::match_snippet;
use crate::report::size::format_tokens;
use crate::report::when::to_second;
use ctxc_transcript::text::Tokens;

/// Utterances of a buffer.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Utterances {
    buffer: String,
    query: Option<String>,
    #[serde(rename = "utterances")]
    rows: Vec<UtteranceRow>,
}

/// One utterance (H-03).
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Utterance")]
struct UtteranceRow {
    sequence: u64,
    utterance_index: usize,
    turn_number: u64,
    speaker: &'static str,
    time: String,
    /// `chars4` tokens.
    tokens: Tokens,
    text: String,
    #[serde(skip)]
    said_at: String,
}

impl Utterances {
    /// Utterances of `buffer`: a part of them, or the matches of `query`.
    pub(crate) fn new(buffer: String, query: Option<&str>, utterances: &[&Utterance]) -> Self {
        let rows = utterances.iter().map(|utterance| UtteranceRow::new(utterance)).collect();
        Self { buffer, query: query.map(str::to_owned), rows }
    }

    /// Whether the list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Utterances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.iter().try_for_each(|row| {
            if let Some(query) = &self.query {
                return writeln!(f, "{row}\n  {}", match_snippet(query, &row.text));
            }
            let end = if row.text.ends_with('\n') { "" } else { "\n" };
            write!(f, "--- {row}\n{}{end}", row.text)
        })
    }
}

impl UtteranceRow {
    fn new(utterance: &Utterance) -> Self {
        Self {
            sequence: utterance.sequence,
            utterance_index: utterance.place,
            turn_number: utterance.turn_number,
            speaker: utterance.speaker.name(),
            time: utterance.time.to_string(),
            tokens: utterance.tokens(),
            text: utterance.text.clone(),
            said_at: to_second(utterance.time),
        }
    }
}

impl fmt::Display for UtteranceRow {
    /// The heading above the text of the utterance.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, turn_number, speaker, said_at, .. } = self;
        write!(f, "{sequence}  {speaker}  turn {turn_number}  {said_at}  {}", format_tokens(self.tokens))
    }
}
