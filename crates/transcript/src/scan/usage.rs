//! `usage`: the tokens that the API counted for a message. The client takes that of the last assistant
//! message as the size of its context.

use super::known::Known;
use super::{each_element, each_field};
use crate::Span;

/// The counts of one `usage` object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt that no cache held.
    pub input: u64,
    /// Tokens of the prompt that were written to the cache.
    pub cache_creation: u64,
    /// Tokens of the prompt that were read from the cache.
    pub cache_read: u64,
    /// Tokens of the reply.
    pub output: u64,
}

/// One request of those that a message took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Its object in `usage`.
    pub span: Span,
    /// Whether it is of a kind whose counts clients read.
    pub is_read: bool,
}

impl Usage {
    /// Takes the value of a key of `usage`; what is no whole number counts as 0.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) -> Known {
        let place = match key {
            b"input_tokens" => &mut self.input,
            b"cache_creation_input_tokens" => &mut self.cache_creation,
            b"cache_read_input_tokens" => &mut self.cache_read,
            b"output_tokens" => &mut self.output,
            _ => return Known::No,
        };
        *place = whole_number(value).unwrap_or(0);
        Known::Yes
    }

    /// The counts that the client takes as the size of the context: those of the last request in `iterations`, where there are
    /// any, else those of all (tried on 2.1.330).
    #[must_use]
    pub fn recorded(text: &[u8]) -> Self {
        let last = Self::last_iteration(text).filter(|last| last.is_read);
        Self::of(last.map_or(text, |last| last.span.of(text)))
    }

    /// The last of `iterations` that is neither an advisor's message nor a compaction.
    #[must_use]
    pub fn last_iteration(text: &[u8]) -> Option<Iteration> {
        let mut iterations = None;
        each_field(text, |key, value| {
            if key == b"iterations" {
                iterations = Some(value);
            }
        });
        let iterations = iterations?;
        let mut last = None;
        each_element(iterations.of(text), |element| {
            let span = element.shifted(iterations.start);
            let mut kind: &[u8] = b"";
            each_field(span.of(text), |key, value| {
                if key == b"type" {
                    kind = value.string(span.of(text)).unwrap_or_default();
                }
            });
            if kind != b"advisor_message" && kind != b"compaction" {
                last = Some(Iteration { span, is_read: kind == b"message" || kind == b"fallback_message" });
            }
        });
        last
    }

    /// The size of the prompt.
    #[must_use]
    pub const fn prompt(self) -> u64 {
        self.input.saturating_add(self.cache_creation).saturating_add(self.cache_read)
    }

    /// The size of the context after the reply, as the client computes it.
    #[must_use]
    pub const fn context(self) -> u64 {
        self.prompt().saturating_add(self.output)
    }
}

pub(super) fn whole_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
