//! What an entry of the archive says, apart from how it is stored: what a search looks through and a person reads.

use jiff::Timestamp;

use super::names::named;
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

named! {
    /// The kinds of entries.
    enum Kind: "the kinds of entries are" or
    /// Text that names no kind of entry.
    NotAKind;
    /// What a person typed, and what the client said in their name.
    Prompt = "prompt",
    /// Answers.
    Answer = "answer",
    /// Thinking.
    Thinking = "thinking",
    /// A tool call, with what it was given.
    Call = "call",
    /// What a tool gave back.
    ToolResult = "tool-result",
    /// Any other entry with a text.
    Other = "other",
    /// A cached result of an engine.
    Result = "result",
    /// A summary of old messages of a session.
    Batch = "batch",
    /// What somebody said in a buffer.
    Utterance = "utterance",
    /// The summary of what has left a buffer.
    Summary = "summary",
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
