//! Turns: from a prompt that a person typed up to the next one (T-05), and what the model said before the first (K-02).

use std::ops::Range;

use super::record::Flags;
use super::scan::EntryKind;
use super::{Chain, Index, LineNo};

/// The place of a turn among those of its transcript, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema, serde::Serialize)]
#[serde(transparent)]
#[schemars(inline)]
pub struct TurnIdx(pub usize);

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The places of its entries in the chain.
    pub chain_places: Range<usize>,
}

impl Turn {
    /// The lines of the turn.
    #[must_use]
    pub fn lines<'a>(&self, chain: &'a Chain) -> &'a [LineNo] {
        chain.lines.get(self.chain_places.clone()).unwrap_or_default()
    }
}

/// The turns of the live chain, in order. Entries before the first prompt form a turn if the model answered there, as
/// after a compaction (K-02); else they belong to none.
#[must_use]
pub fn find_turns(index: &Index, chain: &Chain) -> Vec<Turn> {
    let is_start = |line: LineNo| {
        let flags = index.record(line).flags;
        flags.any(Flags::PROMPT) && (chain.is_sidechain || !flags.any(Flags::SIDECHAIN))
    };
    let prompts = (0..).zip(&chain.lines).filter(|(_, line)| is_start(**line)).map(|(at, _)| at);
    let starts: Vec<usize> = find_opening(index, chain, is_start).into_iter().chain(prompts).collect();
    let ends = starts.iter().skip(1).copied().chain([chain.lines.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| Turn { chain_places: start..end }).collect()
}

/// The first message of the chain, where an answer comes before the first prompt.
fn find_opening(index: &Index, chain: &Chain, is_start: impl Fn(LineNo) -> bool) -> Option<usize> {
    let before = || (0..).zip(&chain.lines).map(|(at, line)| (at, *line)).take_while(|(_, line)| !is_start(*line));
    let is_answer = |line: LineNo| {
        let record = index.record(line);
        record.kind == EntryKind::Assistant && !record.flags.any(Flags::META)
    };
    let (first, _) = before().find(|(_, line)| index.record(*line).kind.is_message())?;
    before().any(|(_, line)| is_answer(line)).then_some(first)
}

/// The one of `turns` that the entry at this place of the chain is part of; `None` before all of them.
#[must_use]
pub fn turn_at(turns: &[Turn], place: usize) -> Option<TurnIdx> {
    turns.partition_point(|turn| turn.chain_places.start <= place).checked_sub(1).map(TurnIdx)
}
