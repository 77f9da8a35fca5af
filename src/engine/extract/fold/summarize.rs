//! The room of a summary, shared out to what is carried on, what the person asked, and the rest.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::super::features::units;
use super::super::shrink::within;
use super::super::window;
use super::choice::Choice;
use super::section::Section;
use super::source::{Group, Part, Sources};
use super::summary::write;
use crate::engine::Fold;
use crate::text::{Tokens, chars4};

/// The part of the room for the summary so far, in percent, as long as anything is new.
const CARRIED: usize = 35;
/// The part of what is left then for prompts.
const PROMPTS: usize = 65;
/// The part of the room that one prompt may take.
const ONE_PROMPT: usize = 40;

/// The summary of `fold`, never over its limit. Blank only where nothing was said, or the limit is nothing.
pub(in super::super::super) fn summarize(fold: &Fold<'_>) -> String {
    let room = usize::try_from(fold.limit.0).unwrap_or(usize::MAX).saturating_mul(4);
    let parts = Part::all(fold, |prompt| shortened(prompt, room.saturating_mul(ONE_PROMPT) / 100));
    let sources = Sources::of(&parts);
    let summary = write(&choose(&sources, room).items());
    if !summary.is_empty() && chars4(&summary) <= fold.limit {
        return summary;
    }
    let first = parts.iter().map(Part::text).find(|text| !text.trim().is_empty()).unwrap_or_default();
    head(first.trim(), room)
}

/// A prompt as it is kept: whole, or the best of it.
fn shortened(prompt: &str, most: usize) -> Cow<'_, str> {
    // A shorter text needs no look.
    if prompt.len() <= most || units(prompt) <= most {
        return Cow::Borrowed(prompt);
    }
    let limit = Tokens(u64::try_from(most.saturating_sub(16) / 4).unwrap_or(u64::MAX).max(1));
    let kept = within(prompt, limit);
    Cow::Owned(if kept.is_empty() { head(prompt, most) } else { kept })
}

fn choose<'s, 't>(sources: &'s Sources<'t>, room: usize) -> Choice<'s, 't> {
    let mut choice = Choice::new(sources, room);
    let is_all_carried = sources.candidates.iter().all(|candidate| candidate.group == Group::Carried);
    // The first prompt of all is what the work is about.
    let task = sources.candidates.iter().position(|candidate| candidate.section == Section::Asked);
    if let Some(task) = task {
        choice.take(task, room);
    }
    choice.run(Group::Carried, if is_all_carried { room } else { room * CARRIED / 100 });
    let left = room.saturating_sub(choice.used());
    let limit = choice.used() + left * PROMPTS / 100;
    let by_worth = prompts(sources, &choice);
    by_worth.iter().for_each(|idx| drop(choice.take(*idx, limit)));
    choice.run(Group::Said, room);
    // What one left over, another may use.
    by_worth.iter().for_each(|idx| drop(choice.take(*idx, room)));
    choice.run(Group::Carried, room);
    choice
}

/// The prompts, the newest and weightiest first.
fn prompts(sources: &Sources<'_>, choice: &Choice<'_, '_>) -> Vec<usize> {
    let prompts = sources.candidates.iter().enumerate().filter(|(_, candidate)| candidate.group == Group::Prompt);
    let mut ranked: Vec<(u32, Reverse<usize>)> = prompts
        .map(|(idx, candidate)| {
            let recency = super::super::worth::ratio(candidate.zone, sources.n_zones);
            let worth = choice.worth_of_prompt(candidate) * (0.6 + 0.4 * recency);
            (worth.max(0.0).to_bits(), Reverse(idx))
        })
        .collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    ranked.into_iter().map(|(_, Reverse(idx))| idx).collect()
}

/// The beginning of `text` in at most `room` units.
fn head(text: &str, room: usize) -> String {
    let end = window::head(text, room);
    let head = text.get(..end).unwrap_or_default();
    if units(head) <= room {
        return head.trim_end().to_owned();
    }
    // One sign made of many characters, longer than all the room.
    let mut left = room;
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    head.chars().take_while(fits).collect()
}
