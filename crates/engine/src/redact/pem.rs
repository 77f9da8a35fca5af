//! PEM blocks: keys and certificates, whole or cut off, in strings and in listings with line numbers.

use std::sync::LazyLock;

use regex::Regex;

use super::known::Finding;
use crate::language::floor;
use crate::pattern::pattern;

const FAMILY: &str = "PEM block";
/// No block is longer.
const LONGEST: usize = 64 * 1024;

/// The block whose head begins at `start`.
pub(super) fn find(text: &str, start: usize) -> Option<Finding> {
    static BLOCKS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        [
            r"\A-----BEGIN [A-Z0-9 ]+-----(?:[^-]|-{1,4}[^-])*?[A-Za-z0-9+/]{32}(?:[^-]|-{1,4}[^-])*?-----END [A-Z0-9 ]+-----",
            r#"\A-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:(?:\\[nr]|[\s"'+,\d→|>:])*[A-Za-z0-9+/=]{24,})+"#,
        ]
        .map(pattern)
    });
    let near = text.get(start..floor(text, start + LONGEST))?;
    let found = BLOCKS.iter().find_map(|pattern| pattern.find(near))?;
    Some(Finding { range: start..start + found.end(), family: FAMILY })
}
