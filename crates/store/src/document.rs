//! What an entry of the archive says, apart from how it is stored: what a search looks through and a person reads.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use ctxc_transcript::text::Digest;

/// An entry as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Document {
    /// What kind of entry it is.
    pub kind: Kind,
    /// The session in which it was said, where that is known.
    pub session: Option<String>,
    /// Who said it, such as `user`, `assistant` or `tool`.
    pub speaker: Option<String>,
    /// The time of the entry.
    pub time: Option<Timestamp>,
    /// What was said.
    pub text: String,
}

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// What a person typed, and what the client said in their name.
    Prompt,
    /// Answers.
    Answer,
    /// Thinking.
    Thinking,
    /// A tool call, with what it was given.
    Call,
    /// What a tool gave back.
    ToolResult,
    /// Any other entry with a text.
    Other,
    /// A cached result of an engine.
    Result,
    /// A summary of old messages of a session.
    Batch,
    /// What somebody said in a buffer.
    Utterance,
    /// The summary of what has left a buffer.
    Summary,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Prompt,
        Self::Answer,
        Self::Thinking,
        Self::Call,
        Self::ToolResult,
        Self::Other,
        Self::Result,
        Self::Batch,
        Self::Utterance,
        Self::Summary,
    ];

    /// Its name, as it is stored and typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Thinking => "thinking",
            Self::Call => "call",
            Self::ToolResult => "tool-result",
            Self::Other => "other",
            Self::Result => "result",
            Self::Batch => "batch",
            Self::Utterance => "utterance",
            Self::Summary => "summary",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Text that names no kind of entry.
#[derive(Debug, thiserror::Error)]
#[error("the kinds of entries are {}", Kind::ALL.map(Kind::name).join(", "))]
pub struct NotAKind;

impl FromStr for Kind {
    type Err = NotAKind;

    fn from_str(name: &str) -> Result<Self, NotAKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(NotAKind)
    }
}

/// The id of an entry within an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentId {
    /// An original line.
    Line(Digest),
    /// A record.
    Record(Kind, Digest),
}

impl DocumentId {
    /// The digest of the line, or the key of the record.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        match self {
            Self::Line(digest) | Self::Record(_, digest) => *digest,
        }
    }
}
