//! What `ctxc truncate` did, or would do, as data and as text.

use std::fmt;

use serde::Serialize;

use super::rewritten::{BeforeAfter, Rewritten};
use super::size::{count, counted};
use crate::apply::Truncated;
use crate::plan::{Kept, TopDownTruncation, Unchanged};
use crate::text::Tokens;
use crate::transcript::LineNo;

/// What `ctxc truncate` did, or would do.
#[derive(Clone, Debug, Serialize)]
pub struct TruncateReport {
    /// What every rewrite tells.
    #[serde(flatten)]
    pub rewritten: Rewritten,
    /// The name of the strategy.
    pub strategy: &'static str,
    /// How often a model was asked: never.
    pub model_calls: u32,
    /// What the context shall be below, in tokens.
    pub target: Tokens,
    /// The size of the context afterwards, as it was held against the target.
    pub size: Tokens,
    /// The size, where it is over the target because two messages are the least.
    pub over_target: Option<Tokens>,
    /// Why nothing was cut: `already-under-target`, `below-minimum`, `empty` or `no-prompt`.
    pub reason: Option<&'static str>,
    /// Messages as the API sees them.
    pub messages: BeforeAfter<u32>,
    /// The line of the first message that was kept in its place.
    pub start: Option<u32>,
    /// The line of the prompt that stays before it, where no prompt comes behind the cut.
    pub opener: Option<u32>,
    #[serde(skip)]
    why: Option<Unchanged>,
}

impl TruncateReport {
    /// The report of what was planned.
    #[must_use]
    pub fn new(rewritten: Rewritten, strategy: &TopDownTruncation, truncated: &Truncated) -> Self {
        let size = truncated.truncation.size;
        let why = if let Kept::All(why) = truncated.truncation.kept { Some(why) } else { None };
        Self {
            rewritten,
            strategy: strategy.name(),
            model_calls: 0,
            target: strategy.target,
            size,
            over_target: Some(size).filter(|size| strategy.is_over(*size)),
            reason: why.map(Unchanged::name),
            messages: BeforeAfter { before: truncated.n_before, after: truncated.n_after },
            start: truncated.start.map(LineNo::number),
            opener: truncated.opener.map(LineNo::number),
            why,
        }
    }

    /// Why nothing changes, when nothing does.
    #[must_use]
    pub fn why_unchanged(&self) -> String {
        let (size, target) = (count(self.size.0), count(self.target.0));
        match self.why {
            Some(Unchanged::Empty) => "there are no messages".to_owned(),
            Some(Unchanged::AlreadyUnderTarget) => {
                format!("the context is already under the target: {size} tokens, the target is {target}")
            }
            Some(Unchanged::BelowMinimum) => {
                format!(
                    "with less there would be fewer than 2 messages; these are {size} tokens, the target is {target}"
                )
            }
            Some(Unchanged::NoPrompt) => {
                format!(
                    "no message of the user is there to start with; the context is {size} tokens, the target {target}"
                )
            }
            None => "nothing goes".to_owned(),
        }
    }
}

/// What people read of a run.
impl fmt::Display for TruncateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rewritten.unchanged.is_some() {
            return self.rewritten.fmt(f);
        }
        let BeforeAfter { before, after } = self.messages;
        // What closes an open tool loop is no message that stayed; a plan does not count it yet.
        let n_closing = if self.rewritten.dry_run { 0 } else { self.rewritten.n_closing };
        let would = if self.rewritten.dry_run { "would drop" } else { "dropped" };
        writeln!(
            f,
            "{would} the oldest {} of {}; model calls: {}",
            count(u64::from((before + n_closing).saturating_sub(after))),
            counted(before.into(), "message"),
            self.model_calls
        )?;
        if let Some(line) = self.opener {
            writeln!(f, "the prompt of the turn that was cut stays: line {}", count(line.into()))?;
        }
        if let Some(size) = self.over_target {
            writeln!(
                f,
                "the {} left are {} tokens, still over the target of {}",
                counted(after.into(), "message"),
                count(size.0),
                count(self.target.0)
            )?;
        }
        self.rewritten.fmt(f)
    }
}

/// What a dry run shows.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a>(pub &'a TruncateReport);

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        writeln!(f, "{}", text.trim_end())
    }
}
