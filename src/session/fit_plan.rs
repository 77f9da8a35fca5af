//! Planning a fit: the stages that bring a context just down to a target (W-02). Results go first, item by item; where they
//! are not enough, the oldest messages are compacted into a summary of the size that is left.

use std::num::NonZeroUsize;

use anyhow::Context;

use super::error::CommandError;
use super::reading::Reading;
use crate::session::compact::{read, scope, view_of};
use crate::session::open::OpenSession;
use crate::session::options::{EngineChoice, Summaries, Summarizing};
use ctxc_core::apply::{PrunedCall, ReadChunk, Rewrite, Scope, Shelf, prune, pruning};
use ctxc_core::plan::{
    CompactStage, FitChoice, Need, PlannedCut, PruneStage, Removable, RemovableClass, Rule, Stage, ThinkingBehind, fit,
};
use ctxc_core::version::ThinkingPolicy;
use ctxc_engine::Prompts;
use ctxc_transcript::scan::Kind;
use ctxc_transcript::text::{Tokens, chars4};
use ctxc_transcript::{Calibration, Flags, LineSet, Messages, Owner, turns};

/// How many tokens a digest has at most.
const DIGEST: u64 = 40;
/// What a view has beside its summary, before one was made: its frame and the state of the work.
const FRAME: u64 = 700;
/// What closes an open tool loop is counted as, with room to spare.
const CLOSING: u64 = 64;
/// The least that a summary is given.
const LEAST_SUMMARY: u64 = 64;
/// A summary of this part of what it stands for leaves little out; a larger share of the window is not kept for it.
const SUMMARY_PART: u64 = 5;
const WINDOW_PART: u64 = 50;
/// How often a view is made to find its size.
const MOST_VIEWS: usize = 6;
/// The largest prompt that has to stand whole in a view, in `chars4` tokens: what is longer was pasted, and is cut in the
/// middle (K-05).
const WHOLE_PROMPT: Tokens = Tokens(1000);

/// Where the context shall be, in `chars4` tokens of what the session holds.
#[derive(Clone, Copy, Debug)]
struct Range {
    /// No more than this is left.
    most: u64,
    /// No less than this, where the items are small enough.
    least: u64,
}

/// How the target is reached.
#[derive(Debug)]
pub(crate) enum Fitting {
    /// By these stages. Where messages are compacted, the newest of them has so many tokens.
    Stages(Vec<Stage>, Option<Tokens>),
    /// Not at all: this is the lowest figure that can be reached.
    TooLow(Tokens),
}

/// What is known of a session before anything is removed from it.
pub(crate) struct Figures {
    protections: PruneStage,
    items: Vec<Removable>,
    handles: Vec<String>,
    thinking: ThinkingBehind,
    n_entries: usize,
    /// What the model sees by now.
    now: u64,
    messages: Messages,
    /// What each message holds, thinking aside, and what is left of it once its results are removed.
    sizes: Vec<u64>,
    least_sizes: Vec<u64>,
    /// The prompts among it.
    prompts: Vec<u64>,
    /// The first message that is never compacted.
    last_start: usize,
}

impl Figures {
    /// Reads what can be removed.
    pub(crate) fn of(
        reading: &Reading,
        shelf: &Shelf,
        policy: ThinkingPolicy,
        protections: &PruneStage,
    ) -> Result<Self, CommandError> {
        let stage = PruneStage {
            name: PruneStage::FIT.to_owned(),
            rules: Rule::ALL.map(|rule| rule.name().to_owned()).to_vec(),
            mask: Some(0),
            digest_tokens: DIGEST,
            ..protections.clone()
        };
        let (file, index, chain) = (&reading.file, &reading.index, &reading.chain);
        let mut masked = Rewrite::default();
        let (what, _) = pruning(&stage).map_err(CommandError::usage)?;
        let pruned =
            prune(file, index, chain, &what, shelf, &mut masked).with_context(|| format!("read {}", reading.name))?;
        let mut places = vec![0; index.records.len()];
        for (place, line) in chain.lines.iter().enumerate() {
            if let Some(slot) = places.get_mut(line.idx()) {
                *slot = place;
            }
        }
        let removable = |call: &PrunedCall| Removable {
            place: places.get(call.line.idx()).copied().unwrap_or_default(),
            saved: u64::try_from(call.cut.saved()).unwrap_or(0),
            class: if call.by.is_some() { RemovableClass::Superseded } else { RemovableClass::Old },
        };
        let thinking = chain.lines.iter().enumerate().filter_map(|(place, &line)| {
            let tokens = index.thinking_of(line).map(|thinking| u64::from(thinking.text))?;
            (policy != ThinkingPolicy::Keep && tokens > 0).then_some((place, tokens))
        });
        let thinking: Vec<(usize, u64)> = thinking.collect();
        let messages = Messages::of(index, chain, &LineSet::default());
        let mut figures = Self {
            items: pruned.calls.iter().map(removable).collect(),
            handles: pruned.calls.into_iter().map(|call| call.cut.name).collect(),
            n_entries: chain.lines.len(),
            now: Rewrite::default().left(index, chain).context().0,
            sizes: vec![0; messages.len() as usize],
            least_sizes: vec![0; messages.len() as usize],
            prompts: vec![0; messages.len() as usize],
            last_start: last_start(reading, &messages, protections),
            thinking: ThinkingBehind::new(&thinking),
            messages,
            protections: stage,
        };
        figures.measure(reading, policy, &masked);
        Ok(figures)
    }

    /// Sums up what each message holds.
    fn measure(&mut self, reading: &Reading, policy: ThinkingPolicy, masked: &Rewrite) {
        let (index, chain) = (&reading.index, &reading.chain);
        let keeps_thinking = policy == ThinkingPolicy::Keep;
        let untouched = Rewrite::default();
        for &line in &chain.lines {
            let thinking = index.thinking_of(line).map_or(0, |thinking| u64::from(thinking.text));
            let thinking = if keeps_thinking { thinking } else { 0 };
            let (Owner::Of(message) | Owner::Behind(message)) = self.messages.owner(line) else { continue };
            let add = |sums: &mut Vec<u64>, tokens: u64| {
                if let Some(sum) = sums.get_mut(message as usize) {
                    *sum += tokens;
                }
            };
            add(&mut self.sizes, untouched.tokens(index, line).0 + thinking);
            add(&mut self.least_sizes, masked.tokens(index, line).0 + thinking);
            if index.record(line).flags.any(Flags::PROMPT) {
                add(&mut self.prompts, untouched.tokens(index, line).0);
            }
        }
    }

    /// The stages that bring the context to `target`.
    pub(crate) fn plan(
        &self,
        work: &mut OpenSession<'_>,
        target: Tokens,
        correction: u64,
        how: &Summaries,
    ) -> Result<Fitting, CommandError> {
        let estimate = work.estimate();
        let lowest = |left: u64| Fitting::TooLow(estimate.context(Tokens(left + CLOSING)));
        let Some(range) = range(&estimate, target, correction) else {
            return Ok(lowest(self.floor(work, how)?.left));
        };
        let least = self.now.saturating_sub(range.most);
        let need = Need { least, most: self.now.saturating_sub(range.least) };
        if let Some(choice) = fit(&self.items, self.n_entries, &self.thinking, need) {
            return Ok(Fitting::Stages(vec![self.prune_stage(&choice.chosen)], None));
        }
        let most = range.most.saturating_sub(CLOSING);
        let range = Range { most, least: range.least.min(most) };
        let view = if let Some(view) = self.view(work, how, range)? {
            view
        } else {
            let floor = self.floor(work, how)?;
            match floor.view {
                Some(view) if floor.left <= range.most => view,
                Some(_) | None => return Ok(lowest(floor.left)),
            }
        };
        let masks = self.masks_behind(work, &view, range);
        let stages = [
            (!masks.is_empty()).then(|| self.prune_stage(&masks)),
            Some(Stage::Compact(CompactStage {
                name: "compact".to_owned(),
                budget_tokens: None,
                keep_recent: self.sizes.len() - view.start,
                chunk_size: usize::MAX,
                max_summary_tokens: view.limit,
                clip_first: how.clip_first,
                clip_last: how.clip_last,
            })),
        ];
        Ok(Fitting::Stages(stages.into_iter().flatten().collect(), Some(self.newest_before(view.start))))
    }

    /// The `chars4` tokens of the newest messages before `start` that are compacted together.
    fn newest_before(&self, start: usize) -> Tokens {
        let group = start.checked_sub(1).and_then(|at| self.messages.groups.get(at));
        let sizes = self.messages.groups.iter().zip(&self.sizes);
        Tokens(sizes.filter(|(of, _)| Some(*of) == group).map(|(_, size)| size).sum())
    }

    /// What removing the superseded results saves, in `chars4` tokens, thinking included.
    pub(crate) fn superseded(&self) -> u64 {
        self.saved(|item| item.class == RemovableClass::Superseded)
    }

    /// What removing all that can be saves.
    pub(crate) fn removable(&self) -> u64 {
        self.saved(|_| true)
    }

    fn saved(&self, goes: impl Fn(&Removable) -> bool) -> u64 {
        let going = || self.items.iter().filter(|item| goes(item));
        let first = going().map(|item| item.place).min();
        going().map(|item| item.saved).sum::<u64>() + first.map_or(0, |first| self.thinking.after(first))
    }

    /// The handle of the largest result that can be removed, and what that saves.
    pub(crate) fn largest(&self) -> Option<(&str, u64)> {
        let (item, handle) = self.items.iter().zip(&self.handles).max_by_key(|(item, _)| item.saved)?;
        Some((handle, item.saved + self.thinking.after(item.place)))
    }

    /// The stage that removes all that can be.
    pub(crate) fn all_removed(&self) -> Stage {
        self.prune_stage(&(0..self.items.len()).collect::<Vec<_>>())
    }

    fn prune_stage(&self, chosen: &[usize]) -> Stage {
        let items =
            chosen.iter().filter_map(|&idx| self.handles.get(idx)).map(|item| PlannedCut { item: item.clone() });
        Stage::Prune(PruneStage {
            also: ["ui-copies", "progress", "dead"].map(str::to_owned).to_vec(),
            cut: Some(items.collect()),
            ..self.protections.clone()
        })
    }

    /// Which results are removed behind `view`, so that the context is in `range`.
    fn masks_behind(&self, work: &OpenSession<'_>, view: &View, range: Range) -> Vec<usize> {
        let start = self.messages.firsts.get(view.start).map_or(usize::MAX, |&place| place as usize);
        let (behind, items): (Vec<usize>, Vec<Removable>) =
            (0..).zip(self.items.iter().copied()).filter(|(_, item)| item.place >= start).unzip();
        let whole = view.tokens + sum_from(&self.sizes, view.start);
        let need = Need { least: whole.saturating_sub(range.most), most: whole.saturating_sub(range.least) };
        // Behind a view no thinking is left to go.
        let choice = fit(&items, work.reading.chain.lines.len(), &ThinkingBehind::default(), need);
        let all = || FitChoice { chosen: (0..items.len()).collect(), saved: 0 };
        choice.unwrap_or_else(all).chosen.into_iter().filter_map(|at| behind.get(at).copied()).collect()
    }
}

/// A view of the messages before `start`.
struct View {
    start: usize,
    /// What its summary may have.
    limit: u64,
    tokens: u64,
}

/// The lowest that can be reached.
struct Floor {
    /// What is left of the session then.
    left: u64,
    /// With this view; without one where none would help.
    view: Option<View>,
}

/// The messages before one of them, as they are read for a view.
struct Older {
    start: usize,
    scope: Scope,
    read: Vec<ReadChunk>,
    /// What a person typed in them, with white space folded.
    typed: Vec<String>,
}

impl Figures {
    /// The view with which the context comes into `range`: of as few messages as leave room for a good summary of them.
    /// `None` where no summary fits.
    fn view(&self, work: &mut OpenSession<'_>, how: &Summaries, range: Range) -> Result<Option<View>, CommandError> {
        let room = |start: usize| range.most.checked_sub(sum_from(&self.least_sizes, start));
        let is_enough = |start: usize| room(start).is_some_and(|room| room >= self.good_view(work, start));
        let borders = self.borders();
        let Some(mut at) = borders.iter().position(|&start| is_enough(start)).or(borders.len().checked_sub(1)) else {
            return Ok(None);
        };
        let mut older: Option<Older> = None;
        let mut frame = FRAME;
        let mut found: Option<View> = None;
        for _ in 0..MOST_VIEWS {
            let Some(&start) = borders.get(at) else { break };
            let Some(room) = room(start) else { return Ok(found) };
            let is_new = older.as_ref().is_none_or(|older| older.start != start);
            if is_new {
                older = self.older(work, start)?;
            }
            let Some(older) = &older else { return Ok(found) };
            // A view is often smaller than its limit, for what was said twice stands in it once.
            let limit = room.saturating_sub(frame).max(if is_new { older.whole_limit() } else { LEAST_SUMMARY });
            let (tokens, is_whole) = older.view(work, how, limit)?;
            if tokens > room {
                if limit == LEAST_SUMMARY {
                    // More of the session makes room.
                    if at + 1 >= borders.len() {
                        return Ok(found);
                    }
                    at = self.next_border(&borders, at, tokens - room);
                } else if limit <= room.saturating_sub(frame) {
                    frame += tokens - room + 8;
                }
            } else if !is_whole {
                // What was typed has to stand in it whole: more of the session makes room for that.
                if at + 1 >= borders.len() {
                    return Ok(found);
                }
                at = self.next_border(&borders, at, room / 3);
            } else {
                let unused = room - tokens;
                let could_stay = sum_from(&self.sizes, start).saturating_sub(sum_from(&self.least_sizes, start));
                found = Some(View { start, limit, tokens });
                let back = self.back(&borders, at, unused.saturating_sub(could_stay));
                if back == at || unused <= could_stay + (range.most - range.least) {
                    break;
                }
                at = back;
            }
        }
        Ok(found)
    }

    /// The lowest that can be reached: as many messages as may be are compacted, and all results of the rest are removed.
    fn floor(&self, work: &mut OpenSession<'_>, how: &Summaries) -> Result<Floor, CommandError> {
        let masked = self.now.saturating_sub(self.removable());
        let without = Floor { left: masked, view: None };
        let Some(&start) = self.borders().last() else { return Ok(without) };
        let Some(older) = self.older(work, start)? else { return Ok(without) };
        let mut limit = older.whole_limit();
        for _ in 0..MOST_VIEWS {
            let (tokens, is_whole) = older.view(work, how, limit)?;
            let left = tokens + sum_from(&self.least_sizes, start);
            if left >= masked {
                break;
            }
            if is_whole {
                return Ok(Floor { left, view: Some(View { start, limit, tokens }) });
            }
            limit = limit * 3 / 2;
        }
        Ok(without)
    }

    /// The messages before `start`, read.
    fn older(&self, work: &mut OpenSession<'_>, start: usize) -> Result<Option<Older>, CommandError> {
        let keep_recent = self.sizes.len() - start;
        let Some(scope) = scope(work, keep_recent, NonZeroUsize::MAX, &Rewrite::default())? else { return Ok(None) };
        let read = read(work, &scope)?;
        let said = read.iter().flat_map(|chunk| &chunk.said).filter(|said| said.speaker == "user");
        let whole = said.filter(|said| chars4(&said.text) <= WHOLE_PROMPT);
        let typed = whole.map(|said| folded(&said.text)).collect();
        Ok(Some(Older { start, scope, read, typed }))
    }

    /// Where messages may be parted, from the first on.
    fn borders(&self) -> Vec<usize> {
        let groups = &self.messages.groups;
        let is_border = |at: &usize| groups.get(*at) != groups.get(at - 1);
        (2..=self.last_start.min(groups.len())).filter(is_border).collect()
    }

    /// What a good view of the messages before `start` has: all prompts, and a summary that leaves little out.
    fn good_view(&self, work: &OpenSession<'_>, start: usize) -> u64 {
        let before = |sums: &[u64]| sums.get(..start).unwrap_or_default().iter().sum::<u64>();
        let prompts = before(&self.prompts);
        let most = work.calibration.window.0 / WINDOW_PART;
        FRAME + prompts * 5 / 4 + (before(&self.sizes).saturating_sub(prompts) / SUMMARY_PART).min(most)
    }

    /// The border behind `at` before which `tokens` more are gone.
    fn next_border(&self, borders: &[usize], at: usize, tokens: u64) -> usize {
        let from = borders.get(at).copied().unwrap_or_default();
        let gone = |to: usize| self.least_sizes.get(from..to).unwrap_or_default().iter().sum::<u64>();
        let behind = borders.iter().skip(at + 1).position(|&to| gone(to) >= tokens);
        behind.map_or(borders.len() - 1, |behind| at + 1 + behind)
    }

    /// The first border before `at` behind which `tokens` more stay.
    fn back(&self, borders: &[usize], at: usize, tokens: u64) -> usize {
        let to = borders.get(at).copied().unwrap_or_default();
        let more = |from: usize| self.least_sizes.get(from..to).unwrap_or_default().iter().sum::<u64>();
        borders.iter().take(at + 1).position(|&from| more(from) <= tokens).unwrap_or(at)
    }
}

impl Older {
    /// A limit with which all that was typed should find room.
    fn whole_limit(&self) -> u64 {
        self.typed.iter().map(|typed| chars4(typed).0).sum::<u64>() * 6 / 5 + LEAST_SUMMARY
    }

    /// The size of the view with a summary of `limit`, and whether all that was typed stands in it.
    fn view(&self, work: &mut OpenSession<'_>, how: &Summaries, limit: u64) -> Result<(u64, bool), CommandError> {
        let mut how = how.clone();
        how.summarizing.limit = Tokens(limit);
        let view = view_of(work, &how, &self.scope, &self.read)?;
        let text = folded(&view);
        Ok((chars4(&view).0, self.typed.iter().all(|typed| text.contains(typed.as_str()))))
    }
}

/// How a fit summarises: offline, by the built-in engine.
pub(crate) fn summaries(clip_first: u32, clip_last: u32) -> Summaries {
    let engine = EngineChoice::Extract;
    Summaries {
        summarizing: Summarizing {
            engine,
            limit: Tokens::ZERO,
            prompts: Prompts::Whole,
            persona: String::new(),
            prompt: None,
        },
        chunk_size: NonZeroUsize::MAX,
        keep_recent: 0,
        clip_first,
        clip_last,
        budget: Tokens::ZERO,
    }
}

/// What may be left of the session for a context of at most `target`, and at least 3 % less; `correction` is left out
/// besides. `None` where unattributed content is over the target alone.
fn range(estimate: &Calibration, target: Tokens, correction: u64) -> Option<Range> {
    let below = |context: u64| {
        let content = Tokens(context.checked_sub(estimate.overhead.0)?);
        Some(estimate.unscale(content).0)
    };
    let most = below(target.0)?.saturating_sub(correction);
    let least = below(target.0 - target.0 * 3 / 100).unwrap_or(0).saturating_sub(correction);
    Some(Range { most, least })
}

/// The first message that is never compacted: with the last answer, what is protected, and all behind them.
fn last_start(reading: &Reading, messages: &Messages, protections: &PruneStage) -> usize {
    let (index, chain) = (&reading.index, &reading.chain);
    let message_of = |place: usize| {
        let line = chain.lines.get(place)?;
        if let Owner::Of(message) | Owner::Behind(message) = messages.owner(*line) {
            Some(message as usize)
        } else {
            None
        }
    };
    let is_answer = |line: &ctxc_transcript::LineNo| {
        let record = index.record(*line);
        record.kind == Kind::Assistant && record.flags.any(Flags::TEXT) && !record.flags.any(Flags::META)
    };
    let answer = chain.lines.iter().rposition(is_answer).and_then(message_of);
    let steps = (0..messages.groups.len()).rev().filter(|&at| !messages.is_user(index, chain, at));
    let step = steps.take(protections.protect_steps as usize).last();
    let turns = turns(index, chain);
    let protected = turns.len().saturating_sub(protections.protect_turns as usize);
    let turn = turns.get(protected).and_then(|turn| message_of(turn.places.start));
    let newest = messages.groups.len().saturating_sub(1);
    [answer, step, turn].into_iter().flatten().fold(newest, usize::min)
}

fn sum_from(sizes: &[u64], start: usize) -> u64 {
    sizes.get(start..).unwrap_or_default().iter().sum()
}

/// `text` with its white space folded.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
