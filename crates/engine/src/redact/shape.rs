//! Secrets by the text around them, in the shapes that `redact.toml` describes.

use std::ops::Range;

use super::known::{Finding, Known, Screen, SecretShape};
use crate::language::floor;
use crate::pattern::pattern;

/// No shape goes on for longer after its anchor.
const REACH: usize = 64 * 1024;
/// No shape begins earlier before its anchor.
const REACH_BEFORE: usize = 4096;

/// The secret of `shape`, an anchor of which is at `at`.
pub(super) fn find(known: &Known, text: &str, at: usize, shape: &'static SecretShape) -> Option<Finding> {
    let [before, after] = shape
        .patterns
        .get_or_init(|| [pattern(&format!(r"(?:{})\z", shape.before)), pattern(&format!(r"\A(?:{})", shape.after))]);
    let from = floor(text, at.saturating_sub(REACH_BEFORE));
    let (lead, rest) = (text.get(from..at)?, text.get(at..floor(text, at + REACH))?);
    let after = after.captures(rest)?;
    let start = if shape.before.is_empty() { at } else { from + before.find(lead)?.start() };
    let group = match (after.name("s"), before.captures(lead).and_then(|found| found.name("s"))) {
        (Some(group), _) => at + group.start()..at + group.end(),
        (None, Some(group)) => from + group.start()..from + group.end(),
        (None, None) => start..at + after.get(0)?.end(),
    };
    let range = match shape.screen {
        Screen::Any => (!known.is_placeholder(text.get(group.clone())?)).then_some(group)?,
        Screen::Password => word(text, group, |word| known.looks_like_password(word))?,
        Screen::Token => word(text, group, |word| known.looks_like_token(word))?,
    };
    Some(Finding { range, family: &shape.family })
}

/// The first word of `range` that passes.
fn word(text: &str, range: Range<usize>, passes: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let mut at = range.start;
    for word in text.get(range)?.split_inclusive(|c: char| !c.is_ascii_graphic() || "\"'`".contains(c)) {
        let core = word.trim_matches(|c: char| !c.is_ascii_graphic() || "\"'`(),.:;".contains(c));
        if passes(core) {
            let start = at + word.find(core)?;
            return Some(start..start + core.len());
        }
        at += word.len();
    }
    None
}
