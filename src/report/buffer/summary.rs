//! The summary of the utterances that a buffer evicted.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::Fill;
use crate::buffer::BufferState;
use crate::report::size::{count, count_noun, format_tokens};
use ctxc_transcript::text::Tokens;

/// The summary of a buffer (H-09).
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct SummaryReport {
    buffer: String,
    text: String,
    /// `chars4` tokens of the summary.
    token_count: Tokens,
    holds: Fill,
}

impl SummaryReport {
    pub(crate) fn new(buffer: String, state: &BufferState) -> Self {
        Self { buffer, text: state.summary.clone(), token_count: state.summary_tokens(), holds: Fill::new(state) }
    }

    /// The size and the origin of the summary in one sentence.
    pub(crate) fn origin_text(&self) -> String {
        let Fill { summarized, summary_tokens, .. } = self.holds;
        let of = count_noun(summarized, "utterance");
        format!(
            "{} of {}, for {of} evicted from buffer {}",
            count(self.token_count.0),
            format_tokens(summary_tokens),
            self.buffer
        )
    }

    /// Whether there is no summary.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl fmt::Display for SummaryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.text.is_empty() || self.text.ends_with('\n') { Ok(()) } else { f.write_str("\n") }
    }
}
