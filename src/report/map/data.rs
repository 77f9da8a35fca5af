//! A map as data.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::report::envelope::Report;
use crate::report::session::{ContextUsage, SessionRef};
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{Calibration, Transcript};

/// The kind of content that uses tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The system prompt and the tools, before the first message.
    System,
    /// Prompts.
    Prompt,
    /// Answers.
    Answer,
    /// Thinking.
    Thinking,
    /// Tool calls with their results.
    Tool,
    /// Content that the client adds: attachments, reminders and summaries.
    Client,
}

impl Kind {
    /// All of them, in the order of a chart.
    pub const ALL: [Self; 6] = [Self::System, Self::Prompt, Self::Answer, Self::Thinking, Self::Tool, Self::Client];
}

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Sent unchanged.
    Active,
    /// Superseded by a later call.
    Superseded,
    /// Replaced by a placeholder.
    Removed,
}

/// One item of the context.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Item {
    /// The kind of content.
    pub kind: Kind,
    /// The tool, or a word for the kind.
    pub group: String,
    /// The argument, such as a file or a command; empty where there is none.
    pub name: String,
    /// Its size, in calibrated tokens.
    pub tokens: u64,
    /// The turn that it is part of, from 1; 0 before the first.
    pub turn: usize,
    /// The state of the item.
    pub state: State,
    /// The beginning of its text.
    pub text: String,
    /// The command that removes it, or restores it; empty where there is none.
    pub command: String,
}

/// Items too small to be listed, by group.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Smaller {
    /// The kind of content.
    pub kind: Kind,
    /// The tool, or a word for the kind.
    pub group: String,
    /// The number of items.
    pub n: u64,
    /// Their size, in calibrated tokens.
    pub tokens: u64,
}

/// A group with its size.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Group {
    /// The kind of content.
    pub kind: Kind,
    /// Its size, in calibrated tokens.
    pub tokens: u64,
}

/// The context at one step.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Step {
    /// Which step it is, from 1.
    pub step: usize,
    /// The size of the prompt as the client recorded it, in tokens.
    pub measured: Option<u64>,
    /// The estimate by kind, in the order of [`Kind::ALL`], of what is active by now; none for steps that are inactive.
    pub used: Option<Used>,
    /// Events before this step: `compaction`, or the verb of an operation.
    pub marks: Vec<String>,
}

/// An operation of ctxc on the session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct OperationRow {
    /// Its id.
    pub id: String,
    /// The verb.
    pub verb: String,
    /// When it was.
    pub time: Timestamp,
    /// The context usage before and after, in calibrated tokens; null where it was not noted.
    pub tokens: Option<(u64, u64)>,
    /// Whether it was undone.
    pub is_undone: bool,
    /// The command that undoes it.
    pub command: String,
}

/// A map of a session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Map {
    /// The session that was read, its title without secrets.
    #[serde(skip)]
    pub read: SessionRef,
    /// Its context usage.
    #[serde(skip)]
    pub usage: ContextUsage,
    /// The number of steps, inactive ones included.
    pub n_steps: usize,
    /// Context usage by kind, empty kinds left out.
    pub kinds: Vec<Group>,
    /// The steps; a sample of them where there are many.
    pub steps: Vec<Step>,
    /// The largest items, largest first.
    pub items: Vec<Item>,
    /// The remaining items, by group.
    pub smaller: Vec<Smaller>,
    /// Calibrated tokens of all superseded items.
    pub superseded: u64,
    /// The operations of ctxc, oldest first.
    pub operations: Vec<OperationRow>,
    /// The number of secrets that were replaced.
    pub secrets: usize,
}

/// The input of a map.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The session.
    pub transcript: Transcript<'a>,
    /// What commands call the session, as a word of a shell.
    pub session: &'a str,
}

/// What one active line comes to.
pub(super) struct Line {
    pub(super) used: Used,
    pub(super) time: Option<Timestamp>,
}

/// Tokens by kind, in the order of [`Kind::ALL`].
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
#[serde(transparent)]
pub struct Used([u64; Kind::ALL.len()]);

impl Used {
    pub(super) fn of(&self, kind: Kind) -> u64 {
        self.0.get(kind as usize).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, kind: Kind, tokens: u64) {
        if let Some(slot) = self.0.get_mut(kind as usize) {
            *slot += tokens;
        }
    }

    /// All kinds of `other` too.
    pub(super) fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(slot, tokens)| *slot += tokens);
    }

    /// Scaled to tokens of the API, with what stands before the first message.
    pub(super) fn calibrated(&self, calibration: &Calibration) -> Self {
        let mut scaled = Self(self.0.map(|tokens| calibration.scale(Tokens(tokens)).0));
        scaled.add(Kind::System, calibration.overhead.0);
        scaled
    }
}

impl Report for Map {
    fn session(&self) -> Option<&SessionRef> {
        Some(&self.read)
    }

    fn context(&self) -> Option<ContextUsage> {
        Some(self.usage)
    }
}
