//! What follows from edits: thinking behind them, copies of old requests, dead references, the gauge.

use std::fs::File;
use std::io;

use super::close_loop::closing_entry;
use super::gauge::{Gauge, Saving, lower_gauge};
use super::pointers::mend_pointers;
use super::rewrite::Rewrite;
use super::thinking::{ThinkingPolicy, ThinkingRemoved, open_loop, remove_thinking};
use crate::text::Tokens;
use crate::transcript::scan::Kind;
use crate::transcript::{Calibration, Chain, ChainEnd, Flags, Index, Totals};

/// What the edits so far are about.
#[derive(Clone, Copy, Debug)]
pub struct Intent {
    /// `chars4` tokens that the edits save of what the model sees.
    pub saved: Tokens,
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
    intent: Intent,
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
        if intent.thinking == ThinkingPolicy::CloseLoop && keeps_thinking {
            // Behind a call without a result there is nothing to add: every client takes the call back, or answers it
            // and ends the loop itself.
            let entry = closing_entry(file, index, chain)?;
            consequences.closed_loop = entry.is_some();
            rewrite.appended.extend(entry);
            kept_from = None;
        }
        consequences.thinking = remove_thinking(file, index, chain, first_change, kept_from, rewrite)?;
    }
    for line in index.lines().filter(|&line| index.record(line).kind == Kind::ApiRequest) {
        rewrite.drop_line(line);
        consequences.n_request_copies += 1;
    }
    mend_pointers(file, index, rewrite)?;
    let saved = intent.saved + consequences.thinking.tokens;
    // Where the head of the conversation is lost, the recorded figure tells of what no resume will send.
    let is_cut_off = matches!(chain.end, ChainEnd::MissingParent(_) | ChainEnd::Cycle(_));
    let left = Totals::of(index, chain).context().saturating_sub(saved);
    let limit = is_cut_off.then(|| calibration.context(left));
    consequences.gauge = lower_gauge(file, index, chain, Saving { saved: calibration.scale(saved), limit }, rewrite)?;
    Ok(consequences)
}
