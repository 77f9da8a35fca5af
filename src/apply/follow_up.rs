//! What follows from edits: thinking behind them, copies of old requests, dead references, the gauge.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use super::close_loop::closing_entry;
use super::gauge::{Gauge, Saving, lower_gauge};
use super::pointers::mend_pointers;
use super::rewrite::Rewrite;
use super::thinking::{ThinkingPolicy, ThinkingRemoved, open_loop, remove_thinking};
use crate::text::Tokens;
use crate::transcript::scan::Kind;
use crate::transcript::{Calibration, Chain, Flags, IdHash, Index, LineNo, LineSet, Totals};

/// What the edits so far are about.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// `chars4` tokens that the edits save of what the model sees, by line.
    pub saved: &'a [(LineNo, Tokens)],
    /// What becomes of thinking behind the first edit.
    pub thinking: ThinkingPolicy,
}

/// What followed from the edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consequences {
    /// What went as thinking.
    pub thinking: ThinkingRemoved,
    /// Copies of request bodies that went, in entries (S-07).
    pub n_request_copies: u64,
    /// The context gauge, where one was recorded.
    pub gauge: Option<Gauge>,
    /// Whether an open tool loop was ended.
    pub closed_loop: bool,
}

/// Adds to `rewrite`, whose edits so far are of what the model sees, all that follows from them.
///
/// # Errors
/// When the source cannot be read.
pub fn follow_up(
    file: &File,
    index: &Index,
    chain: &Chain,
    calibration: &Calibration,
    intent: Intent<'_>,
    rewrite: &mut Rewrite,
) -> io::Result<Consequences> {
    let mut consequences = Consequences::default();
    let is_changed = |line| rewrite.edits.contains_key(&line) || rewrite.dropped.contains(line);
    let Some(first_change) = chain.lines.iter().position(|&line| is_changed(line)) else { return Ok(consequences) };
    if intent.thinking != ThinkingPolicy::Keep {
        let mut kept_from = open_loop(index, chain);
        let keeps_thinking = kept_from.is_some_and(|from| {
            chain.lines.iter().skip(from.max(first_change)).any(|&line| index.record(line).flags.any(Flags::THINKING))
        });
        if intent.thinking == ThinkingPolicy::CloseLoop
            && keeps_thinking
            && let Some(entry) = closing_entry(file, index, chain)?
        {
            rewrite.appended.push(entry);
            consequences.closed_loop = true;
            kept_from = None;
        }
        consequences.thinking = remove_thinking(file, index, chain, first_change, kept_from, rewrite)?;
    }
    drop_copies(index, rewrite);
    for line in index.lines().filter(|&line| index.record(line).kind == Kind::ApiRequest) {
        rewrite.drop_line(line);
        consequences.n_request_copies += 1;
    }
    mend_pointers(file, index, rewrite)?;
    let saved: Tokens = intent.saved.iter().map(|(_, tokens)| *tokens).sum();
    let saved = saved + consequences.thinking.tokens;
    // What came after the last measurement is not in the figure.
    let unmeasured: LineSet =
        chain.lines.iter().rev().take_while(|line| !index.record(**line).flags.any(Flags::USAGE)).copied().collect();
    let later: Tokens =
        intent.saved.iter().filter(|(line, _)| unmeasured.contains(*line)).map(|(_, tokens)| *tokens).sum();
    // Where the head of the conversation is lost, the recorded figure tells of what no resume will send.
    let left = Totals::of(index, chain).context().saturating_sub(saved);
    let limit = calibration.lost_head.then(|| calibration.context(left));
    consequences.gauge = lower_gauge(
        file,
        index,
        chain,
        Saving { saved: calibration.scale(saved.saturating_sub(later)), limit },
        rewrite,
    )?;
    Ok(consequences)
}

/// Drops the earlier copies of every entry that goes: once the last of its uuid is gone, a copy would stand for it.
fn drop_copies(index: &Index, rewrite: &mut Rewrite) {
    let copies = || index.lines().filter(|&line| index.record(line).flags.any(Flags::SUPERSEDED));
    if copies().next().is_none() {
        return;
    }
    let gone: HashSet<IdHash> = rewrite.dropped.iter().map(|line| index.record(line).uuid).collect();
    for line in copies().filter(|&line| gone.contains(&index.record(line).uuid)) {
        rewrite.drop_line(line);
    }
}
