//! Tasks: the texts that are to be compressed.

use super::Level;
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{LineNo, TurnIdx};

/// Which text of an entry a task is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskPart {
    /// The text of the message.
    Text,
    /// The tool result at this place among the blocks of its scan.
    ToolResult(usize),
}

/// One text to compress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The entry that holds the text.
    pub line: LineNo,
    /// Which of its texts it is.
    pub part: TaskPart,
    /// The turn of the entry.
    pub turn: TurnIdx,
    /// How far the text is compressed.
    pub level: Level,
    /// The text.
    pub text: String,
    /// Its size, in `chars4` tokens.
    pub tokens: Tokens,
    /// The target, in tokens.
    pub target: Tokens,
}
