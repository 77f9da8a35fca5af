//! Tool calls as far as decisions need them: digests and numbers, no text.

use ctxc_transcript::text::Tokens;
use ctxc_transcript::{IdHash, LineNo};

/// Where a content block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: LineNo,
    /// Its place among the blocks of the scan of that line.
    pub block: u32,
}

/// A live tool call and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Where the call stands.
    pub call: Place,
    /// Where its result stands; `None` where there is none.
    pub result: Option<Place>,
    /// The assistant message that it is part of, counted from 0.
    pub step: u32,
    /// The turn that it is part of, counted from 0; `None` before the first.
    pub turn: Option<u32>,
    /// A digest of the tool and its parameters: equal calls have equal ones.
    pub params: u64,
    /// A digest of the result.
    pub output: u64,
    /// What the call is about.
    pub subject: Subject,
    /// Whether calling once more gives the same, but for what has changed since.
    pub repeat: Repeat,
    /// The outcome.
    pub answer: Answer,
    /// Whether it may be cut.
    pub access: Access,
    /// The size of the result.
    pub tokens: Tokens,
}

/// The subject of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A file that is read, by a digest of its path, and which lines of it; `None` where it is not read by lines.
    Read(IdHash, Option<Lines>),
    /// A file that is written or edited, by a digest of its path.
    Write(IdHash),
    /// A list of tasks that is written.
    TodoWrite(TodoKind),
    /// A list of tasks that is read.
    TodoRead(TodoKind),
    /// An address that is fetched, by its digest.
    Fetch(IdHash),
    /// Anything else.
    Other,
}

/// Which of the two kinds of lists that clients have had: neither tells of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TodoKind {
    /// One list, written whole: `TodoWrite`, `TodoRead`.
    Todo,
    /// Tasks by number: `TaskCreate`, `TaskUpdate`, `TaskList`.
    Task,
}

/// The lines of a file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The first line.
    pub start: u32,
    /// One past the last line; `u32::MAX` for the end of the file.
    pub end: u32,
}

/// Whether calling once more gives the same, but for what has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It does: the newer result is the newer state.
    Same,
    /// It does not: what was done, said or handed out once is not told again.
    Another,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result.
    Good,
    /// A result that only points back to an earlier one of the same call.
    PointsBack,
    /// An error, or the person said no.
    Failed,
    /// Nothing.
    Missing,
}

/// Whether a call may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Open,
    /// It is cut already.
    Cut,
    /// Its tool or its file is protected, or a person speaks in its result.
    Protected,
}

impl Lines {
    /// The whole file.
    pub const ALL: Self = Self { start: 1, end: u32::MAX };

    /// Whether these lines are all among `others`.
    #[must_use]
    pub const fn are_in(self, others: Self) -> bool {
        others.start <= self.start && self.end <= others.end
    }
}

impl Call {
    /// Whether the call supersedes others, as far as it alone goes: it has a result of its own.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.answer == Answer::Good
    }
}
