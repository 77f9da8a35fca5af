//! What of a session a fit compacts: as few of the oldest messages as leave room for a good view of them (W-02).

use std::num::NonZeroUsize;
use std::ops::Range as Places;

use super::batches::read;
use super::compact::{scope, view_of};
use super::contains_all::contains_all;
use super::error::CommandError;
use super::open::OpenSession;
use super::options::Summaries;
use super::reading::Reading;
use ctxc_core::apply::{ReadChunk, Rewrite, Scope};
use ctxc_core::plan::{Chunking, PruneStage};
use ctxc_core::version::ThinkingPolicy;
use ctxc_transcript::scan::Kind;
use ctxc_transcript::text::{Tokens, chars4};
use ctxc_transcript::{Flags, LineSet, Messages, Owner, turns};

/// What a view has beside its summary, before one was made: its frame and the state of the work.
const FRAME: u64 = 700;
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
pub(crate) struct Range {
    /// No more than this is left.
    pub(crate) most: u64,
    /// No less than this, where the items are small enough.
    pub(crate) least: u64,
}

/// The messages of a session with their sizes, in `chars4` tokens.
pub(crate) struct MessageSizes {
    messages: Messages,
    /// The sizes of the messages without thinking, and after removal of their results.
    sizes: Sums,
    least_sizes: Sums,
    /// The prompts among it.
    prompts: Sums,
    /// The first message that is never compacted.
    last_start: usize,
}

impl MessageSizes {
    /// Sums up what each message of `reading` holds; `masked` removes all that can be.
    pub(crate) fn of(reading: &Reading, policy: ThinkingPolicy, masked: &Rewrite, protections: &PruneStage) -> Self {
        let (index, chain) = (&reading.index, &reading.chain);
        let messages = Messages::of(index, chain, &LineSet::default());
        let none = vec![0; messages.len() as usize];
        let (mut sizes, mut least_sizes, mut prompts) = (none.clone(), none.clone(), none);
        let keeps_thinking = policy == ThinkingPolicy::Keep;
        let untouched = Rewrite::default();
        for &line in &chain.lines {
            let thinking = index.thinking_of(line).map_or(0, |thinking| u64::from(thinking.text));
            let thinking = if keeps_thinking { thinking } else { 0 };
            let (Owner::Of(message) | Owner::Behind(message)) = messages.owner(line) else { continue };
            let add = |all: &mut Vec<u64>, tokens: u64| {
                if let Some(sum) = all.get_mut(message as usize) {
                    *sum += tokens;
                }
            };
            add(&mut sizes, untouched.tokens(index, line).0 + thinking);
            add(&mut least_sizes, masked.tokens(index, line).0 + thinking);
            if index.record(line).flags.any(Flags::PROMPT) {
                add(&mut prompts, untouched.tokens(index, line).0);
            }
        }
        let last_start = last_start(reading, &messages, protections);
        Self { messages, sizes: sizes.into(), least_sizes: least_sizes.into(), prompts: prompts.into(), last_start }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.messages.groups.len()
    }

    /// What all from `start` on hold.
    pub(crate) fn from(&self, start: usize) -> u64 {
        self.sizes.from(start)
    }

    /// Where the message `at` begins in the active chain; behind its end where there is none.
    pub(crate) fn place(&self, at: usize) -> usize {
        self.messages.firsts.get(at).map_or(usize::MAX, |&place| place as usize)
    }

    /// The `chars4` tokens of the newest messages before `start` that are compacted together.
    pub(crate) fn newest_before(&self, start: usize) -> Tokens {
        let group = start.checked_sub(1).and_then(|at| self.messages.groups.get(at));
        let groups = self.messages.groups.get(..start).unwrap_or_default();
        let n_newest = groups.iter().rev().take_while(|of| Some(*of) == group).count();
        Tokens(self.sizes.between(start - n_newest..start))
    }
}

/// A view of the messages before `start`.
pub(crate) struct View {
    pub(crate) start: usize,
    /// What its summary may have.
    pub(crate) limit: u64,
    pub(crate) tokens: u64,
}

/// The messages before one of them, as they are read for a view.
struct Older {
    start: usize,
    scope: Scope,
    read: Vec<ReadChunk>,
    /// What a person typed in them, with white space folded.
    typed: Vec<String>,
}

impl MessageSizes {
    /// The view with which the context comes into `range`: of as few messages as leave room for a good summary of them.
    /// `None` where no summary fits.
    pub(crate) fn view(
        &self,
        work: &mut OpenSession<'_>,
        how: &Summaries,
        range: Range,
    ) -> Result<Option<View>, CommandError> {
        let room = |start: usize| range.most.checked_sub(self.least_sizes.from(start));
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
                let could_stay = self.sizes.from(start).saturating_sub(self.least_sizes.from(start));
                found = Some(View { start, limit, tokens });
                let back = self.back(&borders, at, unused.saturating_sub(could_stay));
                if back == at || unused < could_stay + (range.most - range.least) {
                    break;
                }
                at = back;
            }
        }
        Ok(found)
    }

    /// The smallest view of as many messages as may be, for the lowest figure that can be reached; none where removing
    /// results alone, which leaves `masked` tokens, leaves no more.
    pub(crate) fn floor(
        &self,
        work: &mut OpenSession<'_>,
        how: &Summaries,
        masked: u64,
    ) -> Result<Option<View>, CommandError> {
        let Some(&start) = self.borders().last() else { return Ok(None) };
        let Some(older) = self.older(work, start)? else { return Ok(None) };
        let room = masked.saturating_sub(self.least_sizes.from(start));
        let mut limit = older.whole_limit();
        let mut found: Option<View> = None;
        for _ in 0..MOST_VIEWS {
            let (tokens, is_whole) = older.view(work, how, limit)?;
            if is_whole && tokens < found.as_ref().map_or(room, |view| view.tokens) {
                found = Some(View { start, limit, tokens });
                limit = (limit * 2 / 3).max(LEAST_SUMMARY);
            } else if found.is_some() || tokens >= room {
                break;
            } else {
                limit = limit * 3 / 2;
            }
        }
        Ok(found)
    }

    /// The messages before `start`, read.
    fn older(&self, work: &mut OpenSession<'_>, start: usize) -> Result<Option<Older>, CommandError> {
        let keep_recent = self.len() - start;
        let Some(scope) =
            scope(work, keep_recent, Chunking { size: NonZeroUsize::MAX, bounded_before: None }, &Rewrite::default())?
        else {
            return Ok(None);
        };
        let read = read(work, &scope.chunks)?;
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
        let prompts = self.prompts.between(0..start);
        let most = work.calibration.window.0 / WINDOW_PART;
        FRAME + prompts * 5 / 4 + (self.sizes.between(0..start).saturating_sub(prompts) / SUMMARY_PART).min(most)
    }

    /// The border behind `at` before which `tokens` more are gone.
    fn next_border(&self, borders: &[usize], at: usize, tokens: u64) -> usize {
        let from = borders.get(at).copied().unwrap_or_default();
        let behind = borders.iter().skip(at + 1).position(|&to| self.least_sizes.between(from..to) >= tokens);
        behind.map_or(borders.len() - 1, |behind| at + 1 + behind)
    }

    /// The first border before `at` behind which `tokens` more stay.
    fn back(&self, borders: &[usize], at: usize, tokens: u64) -> usize {
        let to = borders.get(at).copied().unwrap_or_default();
        borders.iter().take(at + 1).position(|&from| self.least_sizes.between(from..to) <= tokens).unwrap_or(at)
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
        Ok((chars4(&view).0, contains_all(&text, &self.typed)))
    }
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

/// The sums of the first so many of a list, so that any part of it is summed at once.
struct Sums(Vec<u64>);

impl From<Vec<u64>> for Sums {
    fn from(mut list: Vec<u64>) -> Self {
        let mut sum = 0;
        for one in &mut list {
            sum += *one;
            *one = sum;
        }
        Self(list)
    }
}

impl Sums {
    fn between(&self, places: Places<usize>) -> u64 {
        let first = |n: usize| n.min(self.0.len()).checked_sub(1).and_then(|last| self.0.get(last)).copied();
        first(places.end).unwrap_or(0).saturating_sub(first(places.start).unwrap_or(0))
    }

    fn from(&self, start: usize) -> u64 {
        self.between(start..usize::MAX)
    }
}

/// `text` with its white space folded.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
