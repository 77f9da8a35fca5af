//! A summary within its limit, whatever the engine replied (H-04).

use crate::engine::{Extract, Job};
use crate::text::{Tokens, chars4};

/// `text`, or what the built-in engine picks of it so that it has at most `limit` tokens.
pub(super) fn within(text: String, limit: Tokens) -> String {
    if chars4(&text) <= limit {
        return text;
    }
    // The engine comes as near to a target as the pieces of the text let it, from above too.
    let tries = [100, 85, 70, 50].map(|percent| Tokens(limit.0 * percent / 100));
    let picked =
        tries.into_iter().filter(|target| target.0 > 0).map(|target| Extract.shrink(&Job { text: &text, target }).text);
    let fitting = picked.into_iter().find(|picked| chars4(picked) <= limit && !picked.trim().is_empty());
    fitting.unwrap_or_else(|| beginning(&text, limit))
}

/// The beginning of `text` that has at most `limit` tokens.
fn beginning(text: &str, limit: Tokens) -> String {
    let mut units = limit.0.saturating_mul(4);
    let fits = |c: &char| {
        let is_within = c.len_utf16() as u64 <= units;
        units = units.saturating_sub(c.len_utf16() as u64);
        is_within
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        // H-04
        #[test]
        fn h_04_a_summary_is_never_over_its_limit(text in "(\\PC{0,30}[ \n.]){0,40}", limit in 0u64..60) {
            let short = within(text.clone(), Tokens(limit));
            prop_assert!(chars4(&short).0 <= limit, "{} tokens: {}", chars4(&short).0, short);
            if chars4(&text).0 <= limit {
                prop_assert_eq!(short, text);
            } else if limit > 0 {
                prop_assert!(!short.is_empty());
            }
        }
    }
}
