//! Texts of the index of `ctxc find`, and the words that narrow searches.

use ctxc_transcript::IdHash;
use jiff::Timestamp;

/// The binary logarithm of the length of a period in seconds: about 24 days.
const PERIOD: u32 = 21;

/// The word that marks messages of people and the model.
pub(super) const SAID: &str = "said";

/// A text to index.
#[derive(Clone, Copy, Debug)]
pub struct FindText<'a> {
    /// A digest that is equal for the same text in different sources.
    pub key: u64,
    /// The kind of the text.
    pub kind: &'static str,
    /// The speaker.
    pub speaker: &'static str,
    /// The tool of a call or result.
    pub tool: Option<&'a str>,
    /// The time of the entry.
    pub time: Option<Timestamp>,
    /// The text.
    pub text: &'a str,
}

/// The place of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The number of its source.
    pub source_id: i64,
    /// Its line, from 0.
    pub line: u32,
    /// The index of the text among those of the line, from 0.
    pub text_idx: u32,
    /// The position of the line: its offset in the file, or its number in the archive.
    pub line_start: u64,
}

/// The words that narrow searches: the project, the speaker, the tool and the period of a text.
pub(super) fn filter_terms(project: &str, text: &FindText<'_>) -> String {
    let mut about = vec![project_word(project), speaker_word(text.speaker)];
    about.extend(text.tool.map(tool_word));
    about.extend(text.time.map(|time| period_word(period_of(time))));
    // Messages of people and the model.
    about.extend(matches!(text.kind, "prompt" | "answer").then(|| SAID.to_owned()));
    about.join(" ")
}

pub(super) fn project_word(project: &str) -> String {
    // The tokenizer does not stem digits.
    format!("p{}", IdHash::of(project.as_bytes()).0)
}

pub(super) fn speaker_word(speaker: &str) -> String {
    format!("s{}", IdHash::of(speaker.as_bytes()).0)
}

pub(super) fn tool_word(tool: &str) -> String {
    format!("t{}", IdHash::of(tool.to_lowercase().as_bytes()).0)
}

pub(super) fn period_word(period: i64) -> String {
    format!("m{period}")
}

pub(super) fn period_of(time: Timestamp) -> i64 {
    time.as_second() >> PERIOD
}
