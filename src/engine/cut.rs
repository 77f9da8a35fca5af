//! A summary brought down to its limit, whoever wrote it (H-04).

use super::Fold;
use super::extract::{summarize, within};
use crate::text::{Tokens, chars4};

/// `summary` in at most `limit` tokens: as it is, or the pieces of it that say the most, in their order.
#[must_use]
pub fn cut(summary: &str, limit: Tokens) -> String {
    if chars4(summary) <= limit {
        return summary.to_owned();
    }
    let kept = within(summary, limit);
    if !kept.is_empty() {
        return kept;
    }
    summarize(&Fold { existing: summary, messages: &[], limit, persona: "", prompt: None })
}
