//! The built-in engine as the runner asks it.

use std::borrow::Cow;
use std::future::ready;

use super::shrink::extract;
use super::summaries::summarize;
use crate::language::without_envelopes;
use crate::{Attempt, Engine, Origin, Reply, Replying, Request, Shorten};
use ctxc_transcript::text::{Tokens, chars4};

/// The built-in engine `extract`: keeps the pieces of a text that say the most for their size, word for word
/// and in order. The same text and target always give the same reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extract;

/// The least that a text has to become shorter by, in tokens.
const LEAST_SAVED: u64 = 20;
/// The same in percent of it.
const LEAST_SAVED_PERCENT: u64 = 15;

impl Extract {
    /// Shrinks `text` to about `target` tokens.
    #[must_use]
    pub fn shrink(&self, text: &str, target: Tokens) -> String {
        extract(text, target)
    }

    /// The shortened `text`, or `text` itself if too little would be saved (K-03).
    #[must_use]
    pub fn shorten(&self, Shorten { text, target, origin }: &Shorten<'_>) -> String {
        let without = match origin {
            Origin::Tool => without_envelopes(text),
            Origin::Message => Cow::Borrowed(text.as_ref()),
        };
        let kept = extract(if without.trim().is_empty() { text } else { &without }, *target);
        if is_worth_it(chars4(text), chars4(&kept)) { kept } else { text.to_string() }
    }
}

impl Engine for Extract {
    fn name(&self) -> &'static str {
        "extract"
    }

    fn reply<'a>(&'a self, request: &'a Request<'a>, _: Attempt) -> Replying<'a> {
        let text = match request {
            Request::Shorten(shorten) => self.shorten(shorten),
            Request::Summarize(wanted) => summarize(wanted),
        };
        Box::pin(ready(Ok(Reply { text, usage: None })))
    }
}

/// Whether what is saved is worth what it hides: 20 tokens and 15 % at least (K-03).
fn is_worth_it(before: Tokens, after: Tokens) -> bool {
    let saved = before.0.saturating_sub(after.0);
    saved >= LEAST_SAVED && saved * 100 >= before.0 * LEAST_SAVED_PERCENT
}
