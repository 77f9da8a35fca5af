//! What follows from edits: thinking behind them, copies of old requests, dead references, the gauge.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use super::GrownRun;
use super::ThinkingPolicy;
use super::close_loop::closing_entry;
use super::gauge::{Change, Gauge, move_gauge};
use super::pointers::mend_pointers;
use super::replacements::mend_replacements;
use super::rewrite::Rewrite;
use super::thinking::{ThinkingReach, ThinkingRemoved, open_loop, remove_thinking};
use crate::text::Tokens;
use crate::transcript::scan::Kind;
use crate::transcript::{Calibration, Chain, Flags, IdHash, Index, LineNo, LineSet, Totals, context_tokens};

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
    /// The `chars4` tokens before the first change that the model sees, for which the prompt cache still holds; nothing
    /// where it sees none.
    pub unchanged: Option<Tokens>,
}

impl Consequences {
    /// What the model will see, of what was `left` before.
    #[must_use]
    pub fn expected(&self, left: Totals) -> Totals {
        Totals {
            thinking: left.thinking.saturating_sub(self.thinking.tokens),
            signatures: left.signatures.saturating_sub(self.thinking.signature_tokens),
            ..left
        }
    }
}

/// What becomes of thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thinking {
    /// What becomes of that which goes or stays.
    pub policy: ThinkingPolicy,
    /// How far back it goes.
    pub reach: ThinkingReach,
}

/// Adds to `rewrite` all that follows from it. `runs` are the lines that clients wrote behind earlier versions.
///
/// # Errors
/// When the source cannot be read.
pub fn follow_up(
    file: &File,
    index: &Index,
    chain: &Chain,
    calibration: &Calibration,
    thinking: Thinking,
    runs: &[GrownRun],
    rewrite: &mut Rewrite,
) -> io::Result<Consequences> {
    let mut consequences = Consequences::default();
    let first_change = chain.lines.iter().position(|&line| rewrite.is_seen(line));
    if thinking.policy != ThinkingPolicy::Keep {
        remove(file, index, chain, Behind { first_change, runs }, thinking, rewrite, &mut consequences)?;
    }
    consequences.unchanged = tokens_before(index, chain, |line| rewrite.is_seen(line));
    let is_seen = first_change.is_some() || consequences.thinking.entries > 0;
    if is_seen {
        for line in index.lines().filter(|&line| index.record(line).kind == Kind::ApiRequest) {
            rewrite.drop_line(line);
            consequences.n_request_copies += 1;
        }
    }
    settle(file, index, rewrite)?;
    if is_seen {
        let change = change(index, chain, calibration, rewrite, consequences.thinking, runs);
        consequences.gauge = move_gauge(file, index, chain, change, rewrite)?;
    }
    Ok(consequences)
}

/// Adds to `rewrite` what has to follow for the sake of the file: earlier copies of what goes, and what names it.
///
/// # Errors
/// When the source cannot be read.
pub(super) fn settle(file: &File, index: &Index, rewrite: &mut Rewrite) -> io::Result<()> {
    drop_copies(index, rewrite);
    mend_replacements(file, index, rewrite)?;
    mend_pointers(file, index, rewrite)
}

/// The `chars4` tokens of `chain` before the first line that `is_changed`; `None` where no line is.
#[must_use]
pub fn tokens_before(index: &Index, chain: &Chain, is_changed: impl Fn(LineNo) -> bool) -> Option<Tokens> {
    let first = chain.lines.iter().position(|&line| is_changed(line))?;
    Some(chain.lines.iter().take(first).map(|&line| context_tokens(index, line)).sum())
}

/// Takes out the thinking that cannot stay.
fn remove(
    file: &File,
    index: &Index,
    chain: &Chain,
    behind: Behind<'_>,
    thinking: Thinking,
    rewrite: &mut Rewrite,
    consequences: &mut Consequences,
) -> io::Result<()> {
    let first_change = behind.first_change;
    let is_thinking = |line| index.record(line).flags.any(Flags::THINKING) && !rewrite.dropped.contains(line);
    let reach = match thinking.reach {
        // A conversation of nothing but thinking would be none without it.
        ThinkingReach::Everywhere if is_all_thinking(index, chain, rewrite) => return Ok(()),
        ThinkingReach::Everywhere => None,
        ThinkingReach::BehindChange => {
            let runs = behind.runs.iter().filter_map(|run| run.first_change);
            let Some(first) = first_change.into_iter().chain(runs).min() else { return Ok(()) };
            Some(first)
        }
    };
    let mut kept_from = open_loop(index, chain);
    let keeps_thinking = kept_from
        .is_some_and(|from| chain.lines.iter().skip(from.max(reach.unwrap_or(0))).any(|&line| is_thinking(line)));
    if thinking.policy == ThinkingPolicy::CloseLoop
        && keeps_thinking
        && let Some(entry) = closing_entry(file, index, chain)?
    {
        rewrite.appended.push(entry);
        consequences.closed_loop = true;
        kept_from = None;
    }
    let behind = reach.map(|_| behind);
    consequences.thinking = remove_thinking(file, index, chain, behind, kept_from, rewrite)?;
    Ok(())
}

/// Where thinking cannot stay: behind the first change of what precedes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind<'a> {
    /// The place in the chain of the first change, for what was written in the session itself.
    pub(super) first_change: Option<usize>,
    /// What clients wrote behind versions.
    pub(super) runs: &'a [GrownRun],
}

impl Behind<'_> {
    /// The place of the first change for the thinking of `line`.
    pub(super) fn of(&self, line: LineNo) -> Option<usize> {
        let run = self.runs.iter().find(|run| run.first <= line && line < run.end);
        run.map_or(self.first_change, |run| run.first_change)
    }
}

fn is_all_thinking(index: &Index, chain: &Chain, rewrite: &Rewrite) -> bool {
    let mut left = chain.messages(index).filter(|(_, line)| !rewrite.dropped.contains(*line));
    left.all(|(_, line)| !index.record(line).flags.any(Flags::BEYOND_THINKING))
}

/// By how much the gauge moves.
fn change(
    index: &Index,
    chain: &Chain,
    calibration: &Calibration,
    rewrite: &Rewrite,
    thinking: ThinkingRemoved,
    runs: &[GrownRun],
) -> Change {
    let saved = rewrite.saved.values().sum::<i64>() + thinking.tokens.0.cast_signed();
    // What came after the last measurement is not in the figure.
    let unmeasured: LineSet =
        chain.lines.iter().rev().take_while(|line| !index.record(**line).flags.any(Flags::USAGE)).copied().collect();
    let later: i64 = rewrite.saved.iter().filter(|(line, _)| unmeasured.contains(**line)).map(|(_, saved)| saved).sum();
    let left = Tokens(Totals::of(index, chain).context().0.saturating_add_signed(-saved));
    // A client that wrote behind a version measured that one.
    let measured = chain
        .lines
        .iter()
        .rev()
        .find(|line| index.record(**line).flags.any(Flags::USAGE) && !rewrite.dropped.contains(**line));
    let run = measured.and_then(|line| runs.iter().find(|run| run.first <= *line && *line < run.end));
    let known = run.map_or(0, |run| run.saved);
    Change {
        saved: calibration.scale_signed(saved + rewrite.already_saved - later - known),
        left: calibration.context(left),
        lost_head: calibration.lost_head,
    }
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
