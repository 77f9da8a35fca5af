//! What is kept of a tool result that is masked: the few pieces that a reader would miss most (P-12).

use crate::engine::{Engine, Extract, Job};
use crate::text::{Tokens, chars4};

/// Notes of the client to the model, which are not part of what the tool said.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");

/// A digest of `text` of at most `limit` tokens: pieces of it, word for word and in order. Empty where nothing can be
/// told in so few.
#[must_use]
pub(super) fn digest(text: &str, limit: Tokens) -> String {
    if limit == Tokens::ZERO {
        return String::new();
    }
    let text = without_reminders(text);
    // The engine comes within 15 % of its target, and the limit is a limit.
    let mut target = limit;
    while target.0 > 2 {
        let reply = Extract.shrink(&Job { text: &text, target });
        let digest = reply.map(|reply| reply.text).unwrap_or_default();
        let digest = digest.trim();
        if chars4(digest) <= limit {
            return digest.to_owned();
        }
        target = Tokens(target.0 * 3 / 4);
    }
    String::new()
}

fn without_reminders(text: &str) -> String {
    let (open, close) = REMINDER;
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        kept.push_str(before);
        rest = inside.split_once(close).map_or("", |(_, behind)| behind);
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // P-12
    #[test]
    fn p_12_a_digest_keeps_errors_and_counts() {
        let passed = (0..60).map(|n| format!("test store::case_{n} ... ok")).collect::<Vec<_>>().join("\n");
        let text = format!(
            "{passed}\ntest store::flush ... FAILED\nerror[E0308]: mismatched types in src/store/flush.rs\ntest result: FAILED. 60 passed; 1 failed\n<system-reminder>be brief</system-reminder>"
        );
        let digest = digest(&text, Tokens(40));
        assert!(digest.contains("src/store/flush.rs") && digest.contains("1 failed"), "{digest}");
        assert!(!digest.contains("brief"), "{digest}");
        assert_eq!(super::digest(&text, Tokens::ZERO), "");
    }

    proptest! {
        // P-12
        #[test]
        fn p_12_a_digest_is_never_over_its_limit(text in "([a-zA-Z/._-]{1,90}[ \n:]|[0-9]{1,9} |漢字|\\{\"a\":|😀){0,90}", limit in 0..90u64) {
            prop_assert!(chars4(&digest(&text, Tokens(limit))) <= Tokens(limit));
        }
    }
}
