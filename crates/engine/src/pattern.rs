//! Patterns that are part of the program.

use regex::Regex;

/// The pattern that `source` is, a constant.
#[expect(clippy::expect_used, reason = "a constant, and used by tests; without it nothing may be sent")]
pub(crate) fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("it is a pattern")
}
