//! Thinking behind a change.
//!
//! The API binds each thinking block to all that comes before it. From the first byte that changes, thinking goes
//! whole, or the API refuses the request (S-05; format: "API rules", 5). A tool loop that is still open
//! keeps its thinking, for there the API may demand it.

use std::fs::File;
use std::io;

use super::Rewrite;
use crate::text::Tokens;
use crate::transcript::edit::{Fate, remove_elements};
use crate::transcript::scan::{BlockKind, Kind, Scan};
use crate::transcript::{Chain, Flags, Index, LineNo, Span, read_line};

/// What becomes of thinking behind a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingPolicy {
    /// It goes, except in a tool loop that is still open.
    #[default]
    Remove,
    /// It goes, and an open tool loop is ended first.
    CloseLoop,
    /// It stays.
    Keep,
}

/// What went as thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ThinkingRemoved {
    /// Entries that lost thinking.
    pub entries: u64,
    /// `chars4` tokens of its text.
    pub tokens: Tokens,
    /// `chars4` tokens of its signatures.
    pub signature_tokens: Tokens,
    /// Entries that keep thinking because their tool loop is still open.
    pub kept_in_open_loop: u64,
}

/// Where the tool loop starts that is still open at the end of the chain; `None` when none is.
#[must_use]
pub(super) fn open_loop(index: &Index, chain: &Chain) -> Option<usize> {
    let flags = |line: LineNo| index.record(line).flags;
    let (_, last) = chain.messages(index).next_back()?;
    if !flags(last).any(Flags::TOOL_USE.with(Flags::TOOL_RESULT)) {
        return None;
    }
    let is_prompt = |line: LineNo| index.record(line).kind == Kind::User && !flags(line).any(Flags::TOOL_RESULT);
    let prompt = chain.messages(index).rev().find(|(_, line)| is_prompt(*line));
    Some(prompt.map_or(0, |(place, _)| place + 1))
}

/// Removes the thinking behind the entry at `first_change` of the chain, and inside that entry behind its text.
/// Entries from `kept_from` on keep theirs.
///
/// # Errors
/// When the source cannot be read.
pub(super) fn remove_thinking(
    file: &File,
    index: &Index,
    chain: &Chain,
    first_change: usize,
    kept_from: Option<usize>,
    rewrite: &mut Rewrite,
) -> io::Result<ThinkingRemoved> {
    let mut removed = ThinkingRemoved::default();
    let mut buffer = Vec::new();
    let mut scan = Scan::default();
    let behind = chain.lines.iter().copied().enumerate().skip(first_change);
    for (place, line) in behind.filter(|(_, line)| index.record(*line).flags.any(Flags::THINKING)) {
        if kept_from.is_some_and(|from| place >= from) {
            removed.kept_in_open_loop += 1;
            continue;
        }
        if place > first_change && !index.record(line).flags.any(Flags::BEYOND_THINKING) {
            rewrite.drop_line(line);
        } else {
            let bytes = read_line(file, index, line, &mut buffer)?;
            scan.read(bytes);
            let elements = fates(&scan, place == first_change);
            if elements.iter().all(|(_, fate)| *fate == Fate::Stays) {
                continue;
            }
            rewrite.edit(line, remove_elements(&elements));
        }
        let thinking = index.thinking_of(line);
        removed.entries += 1;
        removed.tokens += Tokens(thinking.map_or(0, |it| it.text.into()));
        removed.signature_tokens += Tokens(thinking.map_or(0, |it| it.signature.into()));
    }
    Ok(removed)
}

/// Which blocks of a message go: all thinking, or only what stands behind its first text.
fn fates(scan: &Scan, is_first_change: bool) -> Vec<(Span, Fate)> {
    let mut is_behind = !is_first_change;
    let mut elements = Vec::new();
    for block in scan.outer_blocks() {
        let goes = block.kind == BlockKind::Thinking && is_behind;
        is_behind |= block.kind == BlockKind::Text;
        if let Some(span) = block.span {
            elements.push((span, if goes { Fate::Goes } else { Fate::Stays }));
        }
    }
    elements
}
