//! The room of a summary, shared out to what is carried on, what the person asked, and the rest.

use std::borrow::Cow;

use super::super::features::units;
use super::super::render::MARK;
use super::super::shrink::within;
use super::super::window;
use super::choice::Choice;
use super::section::Section;
use super::source::{Group, Part, Sources};
use super::summary::write;
use crate::Fold;
use ctxc_transcript::text::{Tokens, chars4};

/// The part of the room for the summary so far, in percent, as long as anything is new.
const CARRIED: usize = 35;
/// The part of what is left then for prompts.
const PROMPTS: usize = 65;
/// The part of the room that one prompt may take.
const ONE_PROMPT: usize = 40;

/// The summary of `fold`, never over its limit. Blank only where nothing was said, or the limit is nothing.
pub(in super::super::super) fn summarize(fold: &Fold<'_>) -> String {
    let room = usize::try_from(fold.limit.0).unwrap_or(usize::MAX).saturating_mul(4);
    let existing = fold.existing.trim();
    if fold.messages.iter().all(|said| said.text.trim().is_empty()) && chars4(existing) <= fold.limit {
        return existing.to_owned();
    }
    let parts = Part::all(fold, room.saturating_mul(ONE_PROMPT) / 100, shortened);
    let sources = Sources::of(&parts);
    let summary = write(&choose(&sources, room).items());
    if !summary.is_empty() && chars4(&summary) <= fold.limit {
        return summary;
    }
    let texts =
        parts.iter().map(Part::text).chain(fold.messages.iter().map(|said| said.text.as_str())).chain([existing]);
    // A mark would be cut in two where there is no room for anything else.
    let texts = texts.map(|text| text.trim().trim_start_matches(MARK).trim_start());
    let first = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    head(first, room)
}

/// A text as it is kept: whole, or the best of it in `most` units.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // A shorter text needs no look.
    if text.len() <= most || units(text) <= most {
        return Cow::Borrowed(text);
    }
    // How it opens and how it ends is what somebody wants; between them stands what was pasted in.
    let opening = lines_within(text, most / 4);
    let rest = text.get(opening.len()..).unwrap_or_default().trim();
    let closing = rest.lines().next_back().filter(|line| units(line) <= most / 4).unwrap_or_default();
    let between = rest.get(..rest.len() - closing.len()).unwrap_or_default().trim();
    let left = most.saturating_sub(units(opening) + units(closing) + 2);
    let between = within(between, Tokens(u64::try_from(left / 4).unwrap_or(u64::MAX)));
    let between = if between.is_empty() { MARK.to_owned() } else { between };
    let pieces = [opening.trim(), &between, closing.trim()];
    Cow::Owned(pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// The first lines of `text` that have at most `most` units together.
fn lines_within(text: &str, most: usize) -> &str {
    let mut end = 0;
    let mut used = 0;
    for line in text.split_inclusive('\n') {
        used += units(line);
        if used > most {
            break;
        }
        end += line.len();
    }
    text.get(..end).unwrap_or_default()
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
    for (idx, _) in by_worth.iter().filter(|(_, worth)| *worth > 0.0) {
        choice.take(*idx, limit);
    }
    choice.take_one_of_each(Group::Said, room);
    choice.run(Group::Said, room);
    // What one left over, another may use.
    for (idx, _) in &by_worth {
        choice.take(*idx, room);
    }
    choice.run(Group::Carried, room);
    choice
}

/// The prompts and what they are worth, the newest and weightiest first. One such as "ok" is worth nothing.
fn prompts(sources: &Sources<'_>, choice: &Choice<'_, '_>) -> Vec<(usize, f32)> {
    let prompts = sources.candidates.iter().enumerate().filter(|(_, candidate)| candidate.group == Group::Prompt);
    let mut ranked: Vec<(usize, f32)> = prompts
        .map(|(idx, candidate)| {
            let recency = super::super::worth::ratio(candidate.zone, sources.n_zones);
            (idx, choice.worth_of_prompt(candidate) * (0.6 + 0.4 * recency))
        })
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked
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
