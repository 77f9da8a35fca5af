//! The summary of messages: what says the most for its size, in the room that there is.

use std::borrow::Cow;

use super::super::features::units;
use super::super::render::MARK;
use super::super::shrink::within;
use super::super::window;
use super::choice::Choice;
use super::goal::set_goal;
use super::now::set_now;
use super::part::Part;
use super::source::Sources;
use super::summary::write;
use crate::{Prompts, Summarize};
use ctxc_transcript::text::{Tokens, chars4};

/// The summary of `wanted`. Never over its limit, prompts that stand whole aside. Blank only where nothing was said, or the
/// limit is nothing.
pub(in super::super::super) fn summarize(wanted: &Summarize<'_>) -> String {
    let room = usize::try_from(wanted.limit.0).unwrap_or(usize::MAX).saturating_mul(4);
    let existing = wanted.existing.trim();
    if wanted.messages.iter().all(|said| said.text.trim().is_empty()) && chars4(existing) <= wanted.limit {
        return existing.to_owned();
    }
    let mut parts = Part::all(wanted, shortened);
    set_goal(&mut parts, wanted.prompts, shortened);
    set_now(&mut parts, wanted.prompts);
    let sources = Sources::of(&parts, wanted.prompts, wanted.needs);
    let summary = write(&choose(&sources, room).items());
    if !summary.is_empty() && (wanted.prompts == Prompts::Whole || chars4(&summary) <= wanted.limit) {
        return summary;
    }
    let texts = parts
        .iter()
        .map(|part| &*part.text)
        .chain(wanted.messages.iter().map(|said| said.text.as_str()))
        .chain([existing]);
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
    // People write their request at the beginning and the end, and paste between them.
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

/// The first lines of `text` that have at most `most` units together, and leave no block open.
fn lines_within(text: &str, most: usize) -> &str {
    let (mut end, mut closed, mut used) = (0, 0, 0);
    let mut is_in_block = false;
    for line in text.split_inclusive('\n') {
        used += units(line);
        if used > most {
            break;
        }
        end += line.len();
        is_in_block ^= line.trim_start().starts_with("```");
        if !is_in_block {
            closed = end;
        }
    }
    text.get(..closed).unwrap_or_default()
}

fn choose<'s, 't>(sources: &'s Sources<'t>, room: usize) -> Choice<'s, 't> {
    let mut choice = Choice::new(sources);
    for (idx, _) in sources.candidates.iter().enumerate().filter(|(_, candidate)| candidate.is_certain) {
        choice.take(idx, usize::MAX);
    }
    choice.run(choice.used.saturating_add(room));
    choice
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
