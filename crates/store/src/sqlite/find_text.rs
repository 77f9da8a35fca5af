//! The texts of the index of `ctxc find`, and the words by which searches for them are narrowed.

use ctxc_transcript::IdHash;
use jiff::Timestamp;

/// As many seconds, in powers of two, are one period of time: some 24 days.
const PERIOD: u32 = 21;

/// Marks what people and the model said to each other.
pub(super) const SAID: &str = "said";

/// One text to be indexed.
#[derive(Clone, Copy, Debug)]
pub struct FindText<'a> {
    /// A digest of all that makes it the same text in another source.
    pub key: u64,
    /// What kind of text it is.
    pub kind: &'static str,
    /// Who said it.
    pub speaker: &'static str,
    /// The tool that was called, or that gave it back.
    pub tool: Option<&'a str>,
    /// The time of the entry.
    pub time: Option<Timestamp>,
    /// The text.
    pub text: &'a str,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindPlace {
    /// The number of its source.
    pub source: i64,
    /// Its line, from 0.
    pub line: u32,
    /// Which of the texts of the line it is, from 0.
    pub at: u32,
    /// What finds the line: where it starts in the file, or its number in the archive.
    pub start: u64,
}

/// What searches are narrowed by, as words: the project, the speaker, the tool and the period of a text.
pub(super) fn about(project: &str, text: &FindText<'_>) -> String {
    let mut about = vec![of_project(project), of_speaker(text.speaker)];
    about.extend(text.tool.map(of_tool));
    about.extend(text.time.map(|time| of_period(period(time))));
    // A kind of text that was typed, or that answers it.
    about.extend(matches!(text.kind, "prompt" | "answer").then(|| SAID.to_owned()));
    about.join(" ")
}

pub(super) fn of_project(project: &str) -> String {
    // The digits of a digest are cut off nothing by the tokenizer.
    format!("p{}", IdHash::of(project.as_bytes()).0)
}

pub(super) fn of_speaker(speaker: &str) -> String {
    format!("s{}", IdHash::of(speaker.as_bytes()).0)
}

pub(super) fn of_tool(tool: &str) -> String {
    format!("t{}", IdHash::of(tool.to_lowercase().as_bytes()).0)
}

pub(super) fn of_period(period: i64) -> String {
    format!("m{period}")
}

pub(super) fn period(time: Timestamp) -> i64 {
    time.as_second() >> PERIOD
}
