//! What `ctxc truncate` did, or would do, as data and as text.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::rewritten::{BeforeAfter, Rewritten};
use super::size::{count, counted};
use ctxc_core::apply::Truncated;
use ctxc_core::plan::{Kept, TopDownTruncation, Unchanged};
use ctxc_transcript::LineNo;
use ctxc_transcript::text::Tokens;

/// Result of `ctxc truncate`, or of its dry run.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct TruncateReport {
    /// What every rewrite tells.
    #[serde(skip)]
    pub(crate) rewritten: Rewritten,
    /// The name of the strategy.
    pub(crate) strategy: &'static str,
    /// The number of model calls: always 0.
    pub(crate) model_calls: u32,
    /// The target for the context, in tokens.
    pub(crate) target: Tokens,
    /// Context usage afterwards, as compared with the target.
    pub(crate) size: Tokens,
    /// Context usage where the target was not reached because two messages always stay.
    pub(crate) over_target: Option<Tokens>,
    /// Why nothing was removed: `already-under-target`, `below-minimum`, `empty` or `no-prompt`.
    pub(crate) reason: Option<&'static str>,
    /// The number of messages as the API counts them.
    pub(crate) messages: BeforeAfter<u32>,
    /// The line of the first message that was kept.
    pub(crate) start: Option<u32>,
    /// The line of the prompt that was kept before it, where the turn was cut inside.
    pub(crate) opener: Option<u32>,
    #[serde(skip)]
    why: Option<Unchanged>,
}

impl TruncateReport {
    /// The report of what was planned.
    pub(crate) fn new(rewritten: Rewritten, strategy: &TopDownTruncation, truncated: &Truncated) -> Self {
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
    pub(crate) fn why_unchanged(&self) -> String {
        let (size, target) = (count(self.size.0), count(self.target.0));
        match self.why {
            Some(Unchanged::Empty) => "the session has no messages".to_owned(),
            Some(Unchanged::AlreadyUnderTarget) => {
                format!("already under the target: {size} of {target} tokens")
            }
            Some(Unchanged::BelowMinimum) => {
                format!("at least 2 messages have to stay: these are {size} tokens, the target is {target}")
            }
            Some(Unchanged::NoPrompt) => {
                format!("there is no prompt to start with: the context is {size} tokens, the target is {target}")
            }
            None => "nothing to remove".to_owned(),
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
        let would = if self.rewritten.dry_run { "would remove" } else { "removed" };
        writeln!(
            f,
            "{would} the oldest {} of {}; model calls: {}",
            count(u64::from((before + n_closing).saturating_sub(after))),
            counted(before.into(), "message"),
            self.model_calls
        )?;
        if let Some(line) = self.opener {
            writeln!(f, "kept the prompt of the truncated turn: line {}", count(line.into()))?;
        }
        if let Some(size) = self.over_target {
            writeln!(
                f,
                "target not reachable: the {} left use {} tokens, the target is {}",
                counted(after.into(), "message"),
                count(size.0),
                count(self.target.0)
            )?;
        }
        self.rewritten.fmt(f)
    }
}
