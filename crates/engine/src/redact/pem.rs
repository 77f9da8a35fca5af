//! PEM blocks: keys and certificates, whole or cut off, in strings and in listings with line numbers.

use std::sync::LazyLock;

use regex::Regex;

use super::known::Finding;

const FAMILY: &str = "PEM block";
/// No block is longer.
const LONGEST: usize = 64 * 1024;

/// The block whose head begins at `start`.
pub(super) fn find(text: &str, start: usize) -> Option<Finding> {
    #[expect(clippy::expect_used, reason = "a constant, and used by tests; without it nothing may be sent")]
    static BLOCKS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        [
            r"\A-----BEGIN [A-Z0-9 ]+-----(?:[^-]|-{1,4}[^-])*?[A-Za-z0-9+/]{32}(?:[^-]|-{1,4}[^-])*?-----END [A-Z0-9 ]+-----",
            r#"\A-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:(?:\\[nr]|[\s"'+,\d→|>:])*[A-Za-z0-9+/=]{24,})+"#,
        ]
        .map(|pattern| Regex::new(pattern).expect("it is a pattern"))
    });
    let mut end = (start + LONGEST).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let near = text.get(start..end)?;
    let found = BLOCKS.iter().find_map(|pattern| pattern.find(near))?;
    Some(Finding { range: start..start + found.end(), family: FAMILY })
}
