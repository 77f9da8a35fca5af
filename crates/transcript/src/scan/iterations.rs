//! `usage.iterations`: the requests that one message took. The client reads the size of the context in the last of them.

use super::usage::Usage;
use super::walk::{each_element, each_field};
use crate::Span;

/// One request of those that a message took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Its object in `usage`.
    pub span: Span,
    /// Whether it is of a kind whose counts clients read.
    pub is_read: bool,
}

impl Usage {
    /// The counts that the client takes as the size of the context: those of the last request in `iterations`, where there are
    /// any, else those of all (tried on 2.1.330).
    #[must_use]
    pub fn of_last_request(text: &[u8]) -> Self {
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
            let span = element.shift_by(iterations.start);
            let mut kind: &[u8] = b"";
            each_field(span.of(text), |key, value| {
                if key == b"type" {
                    kind = value.string_in(span.of(text)).unwrap_or_default();
                }
            });
            if kind != b"advisor_message" && kind != b"compaction" {
                last = Some(Iteration { span, is_read: kind == b"message" || kind == b"fallback_message" });
            }
        });
        last
    }
}
