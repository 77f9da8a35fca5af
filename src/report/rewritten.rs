//! What every verb that rewrites a transcript tells, as data and as text.

use std::fmt;

use serde::Serialize;

use super::cache::CacheCost;
use super::keep::DepositSize;
use super::size::{bytes, count};
use crate::apply::{Consequences, Gauge, ThinkingRemoved};
use crate::text::Tokens;
use crate::transcript::{Calibration, Totals};

/// What a rewrite did, or would do, whatever the verb.
#[derive(Clone, Debug, Serialize)]
pub struct Rewritten {
    schema: u32,
    verb: &'static str,
    /// Where the transcript came from.
    pub source: String,
    /// Where the result is; nothing for standard output and for a run that changes nothing.
    pub output: Option<String>,
    /// The id of the new session.
    pub session_id: Option<String>,
    /// Why nothing changed, when nothing did.
    pub unchanged: Option<String>,
    /// Whether this is a plan, of which nothing was done.
    pub dry_run: bool,
    /// What the model sees, before and after; of a dry run what is expected.
    pub tokens: LiveTokens,
    /// Whether people are told the calibrated figures too.
    #[serde(skip)]
    pub shows_calibrated: bool,
    /// What went as thinking, which is apart from what the verb itself saved.
    pub thinking_removed: ThinkingRemoved,
    /// What the rewrite costs in the prompt cache; nothing where the model sees no change.
    pub prompt_cache: Option<CacheCost>,
    /// The `chars4` tokens before the first change that the model sees.
    #[serde(skip)]
    unchanged_tokens: Option<Tokens>,
    /// The size that the client will take its context for.
    pub gauge: Option<Gauge>,
    /// Whether a tool loop that was open at the end is closed.
    pub closed_loop: bool,
    /// How many messages close it.
    #[serde(skip)]
    pub n_closing: u32,
    /// Copies of request bodies that went.
    pub request_copies_removed: u64,
    /// The size of the file.
    pub bytes: Option<BeforeAfter<u64>>,
    /// The operation in the archive.
    pub operation: Option<String>,
    /// What of the session was new to the archive.
    pub deposit: Option<DepositSize>,
    /// The copy of a source that was replaced in place.
    pub backup: Option<String>,
}

/// A figure before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BeforeAfter<T> {
    /// Before.
    pub before: T,
    /// After.
    pub after: T,
}

/// What the model sees.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LiveTokens {
    /// By a quarter of the characters.
    pub chars4: BeforeAfter<Totals>,
    /// As the API would count, by the usage recorded in this file; the overhead before the first message included.
    pub calibrated: BeforeAfter<Tokens>,
    /// Tokens of the API for one of `chars4`.
    pub factor: f64,
    /// The overhead before the first message.
    pub overhead: Tokens,
    /// From how many steps the factor was learnt.
    pub calibrated_from_steps: usize,
}

impl Rewritten {
    /// What is known before anything has been done: `totals` of the source.
    #[must_use]
    pub fn new(verb: &'static str, source: String, calibration: &Calibration, totals: Totals) -> Self {
        let mut rewritten = Self {
            schema: 1,
            verb,
            source,
            output: None,
            session_id: None,
            unchanged: None,
            dry_run: false,
            tokens: LiveTokens { chars4: BeforeAfter { before: totals, after: totals }, ..LiveTokens::default() },
            shows_calibrated: true,
            thinking_removed: ThinkingRemoved::default(),
            prompt_cache: None,
            unchanged_tokens: None,
            gauge: None,
            closed_loop: false,
            n_closing: 0,
            request_copies_removed: 0,
            bytes: None,
            operation: None,
            deposit: None,
            backup: None,
        };
        rewritten.set_totals(calibration, totals);
        rewritten
    }

    /// The verb.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        self.verb
    }

    /// Takes what followed from the edits.
    pub fn set_consequences(&mut self, consequences: &Consequences) {
        self.thinking_removed = consequences.thinking;
        self.gauge = consequences.gauge;
        self.closed_loop = consequences.n_closing > 0;
        self.n_closing = consequences.n_closing;
        self.request_copies_removed = consequences.n_request_copies;
        self.set_unchanged(consequences.unchanged);
    }

    /// Takes the `chars4` tokens before the first change that the model sees; before [`Self::set_totals`].
    pub const fn set_unchanged(&mut self, tokens: Option<Tokens>) {
        self.unchanged_tokens = tokens;
    }

    /// Takes what the model sees after the run.
    pub fn set_totals(&mut self, calibration: &Calibration, after: Totals) {
        let before = self.tokens.chars4.before;
        self.tokens = LiveTokens {
            chars4: BeforeAfter { before, after },
            calibrated: BeforeAfter {
                before: calibration.context(before.context()),
                after: calibration.context(after.context()),
            },
            factor: calibration.factor,
            overhead: calibration.overhead,
            calibrated_from_steps: calibration.n_steps,
        };
        let BeforeAfter { before, after } = self.tokens.calibrated;
        let cost = |unchanged| CacheCost::of(before, after, calibration.context(unchanged));
        self.prompt_cache = self.unchanged_tokens.map(cost);
    }
}

/// What people read behind what the verb itself has to say.
impl fmt::Display for Rewritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = &self.unchanged {
            return write!(f, "nothing changed: {reason}");
        }
        let LiveTokens { chars4, calibrated, .. } = self.tokens;
        let (before, after) = (chars4.before.context().0, chars4.after.context().0);
        write!(f, "live tokens: {} -> {} by chars4", count(before), count(after))?;
        if self.shows_calibrated {
            write!(f, ", {} -> {} calibrated", count(calibrated.before.0), count(calibrated.after.0))?;
        }
        writeln!(f, " (estimates)")?;
        let ThinkingRemoved { entries, tokens, signature_tokens, kept_in_open_loop } = self.thinking_removed;
        if entries > 0 {
            writeln!(
                f,
                "of which thinking behind the first change: {}, {} tokens and {} of signatures",
                if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", count(entries)) },
                count(tokens.0),
                count(signature_tokens.0),
            )?;
        }
        if kept_in_open_loop > 0 {
            writeln!(f, "thinking kept in the tool loop that is still open: {kept_in_open_loop}")?;
        }
        if self.closed_loop {
            writeln!(f, "open tool loop: closed with a short assistant message")?;
        }
        if let Some(cost) = self.prompt_cache {
            writeln!(f, "{cost}")?;
        }
        if let Some(Gauge { before, after }) = self.gauge {
            writeln!(f, "context gauge of the client: {} -> {} tokens", count(before.0), count(after.0))?;
        }
        if let Some(size) = self.bytes {
            write!(f, "file: {} -> {}", bytes(size.before), bytes(size.after))?;
        }
        Ok(())
    }
}
