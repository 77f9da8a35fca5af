//! The limits of a buffer.

use serde::{Deserialize, Serialize};

use ctxc_transcript::text::Tokens;

/// The limits of a buffer and of its summary. Tokens are `chars4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BufferLimits {
    /// The maximum number of utterances; 0 counts as 1.
    pub(crate) size: u32,
    /// The maximum number of tokens of all utterances together. The newest one stays, however long it is.
    pub(crate) max_tokens: Tokens,
    /// The maximum number of tokens of the summary.
    pub(crate) summary_tokens: Tokens,
}

/// The values of requirement H-01.
impl Default for BufferLimits {
    fn default() -> Self {
        Self { size: 20, max_tokens: Tokens(8000), summary_tokens: Tokens(1000) }
    }
}

/// The limits to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitChange {
    /// The maximum number of utterances.
    pub(crate) size: Option<u32>,
    /// The maximum number of tokens of all utterances together.
    pub(crate) max_tokens: Option<Tokens>,
    /// The maximum number of tokens of the summary.
    pub(crate) summary_tokens: Option<Tokens>,
}

impl BufferLimits {
    /// The limits with `change` applied.
    pub(crate) fn apply_change(self, change: LimitChange) -> Self {
        Self {
            size: change.size.unwrap_or(self.size),
            max_tokens: change.max_tokens.unwrap_or(self.max_tokens),
            summary_tokens: change.summary_tokens.unwrap_or(self.summary_tokens),
        }
    }

    /// Whether `n_utterances` with `tokens` exceed the limits.
    pub(super) fn are_exceeded_by(&self, n_utterances: usize, tokens: Tokens) -> bool {
        n_utterances > 1 && (n_utterances > self.size as usize || tokens > self.max_tokens)
    }
}
