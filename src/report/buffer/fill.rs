//! The fill level of a buffer.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::buffer::{BufferLimits, BufferState};
use crate::report::size::{count, count_noun, format_tokens};
use ctxc_transcript::text::Tokens;

/// The fill level of a buffer.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(crate) struct Fill {
    /// The number of utterances.
    pub(super) utterances: u64,
    /// The maximum number of utterances.
    pub(super) size: u32,
    /// Their tokens.
    pub(super) total_tokens: Tokens,
    /// The maximum number of tokens.
    pub(super) max_tokens: Tokens,
    /// The tokens of the summary.
    pub(super) summary_token_count: Tokens,
    /// The maximum number of tokens of the summary.
    pub(super) summary_tokens: Tokens,
    /// The number of utterances that the summary covers.
    #[serde(rename = "summarised")]
    pub(super) summarized: u64,
    /// The number of evicted utterances that are not in the summary yet.
    pub(super) waiting: u64,
}

/// The fill level of a buffer, as a result of its own.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct FillReport {
    buffer: String,
    holds: Fill,
}

impl Fill {
    /// The fill level of the buffer with `state`.
    pub(crate) fn new(state: &BufferState) -> Self {
        let BufferLimits { size, max_tokens, summary_tokens } = state.limits;
        Self {
            utterances: state.n_held(),
            size: size.max(1),
            total_tokens: state.total_tokens(),
            max_tokens,
            summary_token_count: state.summary_tokens(),
            summary_tokens,
            summarized: state.n_summarized,
            waiting: state.n_waiting(),
        }
    }

    /// The tokens of the utterances and their limit, if they exceed it: a single utterance may (H-06).
    pub(crate) fn exceeded_limit(&self) -> Option<(Tokens, Tokens)> {
        (self.total_tokens > self.max_tokens).then_some((self.total_tokens, self.max_tokens))
    }

    /// The number of evicted utterances that are not in the summary yet.
    pub(crate) fn n_waiting(&self) -> u64 {
        self.waiting
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { utterances, size, total_tokens, max_tokens, .. } = self;
        write!(
            f,
            "{} of {size} utterances, {} of {}",
            count(*utterances),
            count(total_tokens.0),
            format_tokens(*max_tokens)
        )
    }
}

impl FillReport {
    pub(crate) fn new(buffer: String, state: &BufferState) -> Self {
        Self { buffer, holds: Fill::new(state) }
    }
}

impl fmt::Display for FillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fill { utterances, size, total_tokens, max_tokens, summary_token_count, summary_tokens, .. } = self.holds;
        writeln!(f, "utterances  {} of {}", count(utterances), count(size.into()))?;
        writeln!(f, "tokens      {} of {}", count(total_tokens.0), count(max_tokens.0))?;
        writeln!(f, "summary     {} of {}", count(summary_token_count.0), format_tokens(summary_tokens))?;
        writeln!(f, "summarized  {}", count_noun(self.holds.summarized, "utterance"))?;
        writeln!(f, "waiting     {}", count_noun(self.holds.waiting, "utterance"))
    }
}
