//! The token totals of the live chain.

use super::scan::Scan;
use super::{Chain, Index, Part, measure_parts};
use crate::text::Tokens;

/// The `chars4` tokens of what a resume would send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Totals {
    /// Text, tool calls, tool results, images and attachments.
    pub messages: Tokens,
    /// The text of thinking.
    pub thinking: Tokens,
    /// The signatures of thinking.
    pub signatures: Tokens,
}

impl Totals {
    /// The totals of `chain`.
    #[must_use]
    pub fn of(index: &Index, chain: &Chain) -> Self {
        let mut totals = Self::default();
        for &line in &chain.lines {
            totals.messages += Tokens(index.record(line).tokens.into());
            if let Some(thinking) = index.thinking_of(line) {
                totals.thinking += Tokens(thinking.text.into());
                totals.signatures += Tokens(thinking.signature.into());
            }
        }
        totals
    }

    /// Adds what the model sees of an entry that is not in the index.
    pub fn add_entry(&mut self, line: &[u8]) {
        measure_parts(&Scan::of(line), line, |part, tokens| match part {
            Part::Thinking => self.thinking += tokens,
            Part::Signature => self.signatures += tokens,
            _ => self.messages += tokens,
        });
    }

    /// Messages, thinking and signatures together.
    #[must_use]
    pub fn all_tokens(&self) -> Tokens {
        self.messages + self.thinking + self.signatures
    }

    /// Context usage in `chars4` tokens, without signatures: the API counts thinking by its text.
    #[must_use]
    pub fn context_tokens(&self) -> Tokens {
        self.messages + self.thinking
    }
}
