//! The work at hand when a summary was made.

use std::borrow::Cow;

use super::super::announce::{announces, nods};
use super::super::features::units;
use super::part::{PROMPT, Part, Role};
use super::section::{Section, Speaker};
use crate::Prompts;
use crate::language::{Piece, PieceKind, classes, segment};
use ctxc_transcript::text::clipped;

/// The calls after the last words of the model that are shown with them.
const SINCE: usize = 3;
/// The mark before these calls.
const SINCE_THEN: &str = "Calls since then: ";
/// The most units of such a call.
const CALL: usize = 60;

/// Sets what was being done: the last words of the model unless the person answered, and where there is room the calls after that;
/// else what a summary says after which nothing was said.
pub(super) fn set_now(parts: &mut Vec<Part<'_>>, prompts: Prompts) {
    let is_now = |part: &Part<'_>| matches!(part.role, Role::Item(Section::Now) | Role::Loose(Some(Section::Now)));
    let known = parts.iter().rposition(is_now);
    let said = parts.iter().rposition(|part| matches!(part.role, Role::Conclusion | Role::Speech));
    let newest_zone = known.max(said).and_then(|at| parts.get(at)).map(|part| part.zone);
    let is_outdated = |part: &Part<'_>| said > known || Some(part.zone) != newest_zone;
    for part in &mut *parts {
        // The calls after it are known better now.
        if part.role == Role::Item(Section::Now)
            && is_outdated(part)
            && let Some((said, _)) = part.text.split_once(SINCE_THEN)
        {
            part.text = Cow::Owned(said.trim_end().to_owned());
        }
        // Steps that were announced then are done by now.
        if is_outdated(part)
            && part.role == Role::Item(Section::Now)
            && let Some(last) = segment(&part.text).last().filter(|piece| announces(piece.text))
        {
            let said = part.text.get(..last.at).unwrap_or_default().trim_end();
            part.text = Cow::Owned(if nods(said) { String::new() } else { said.to_owned() });
        }
        if is_outdated(part) && part.role == Role::Loose(Some(Section::Now)) {
            part.role = Role::Loose(None);
        } else if is_outdated(part) && part.role == Role::Item(Section::Now) && !part.text.is_empty() {
            part.role = Role::Item(Section::of(&part.text, classes(&part.text), Speaker::Model));
        }
    }
    let since = said.and_then(|at| parts.get(at + 1..)).unwrap_or_default();
    let is_persons = |part: &Part<'_>| matches!(part.role, Role::Prompt | Role::Goal | Role::Answer);
    let answered = since.iter().rposition(is_persons);
    let since = since.get(answered.map_or(0, |at| at + 1)..).unwrap_or_default();
    let since = if prompts == Prompts::Whole { calls_since(since) } else { String::new() };
    let now = said.filter(|_| said > known).and_then(|at| {
        let last = parts.get_mut(at)?;
        if answered.is_some() {
            let role = Role::Item(Section::Now);
            return (!since.is_empty()).then(|| Part {
                text: Cow::Owned(since.trim().to_owned()),
                role,
                zone: last.zone,
            });
        }
        let (start, end) = last_statement(&last.text)?;
        let text = last.text.get(start..end)?.trim().to_owned();
        // A decision, a failure or what is left to do is what it is, whenever it was said.
        let section = Section::of(&text, classes(&text), Speaker::Model);
        if !(announces(&text) || matches!(section, Section::Done | Section::Found | Section::Also)) {
            return None;
        }
        let rest = format!("{}{}", last.text.get(..start)?, last.text.get(end..)?);
        last.text = Cow::Owned(rest);
        Some(Part { text: Cow::Owned(text + &since), role: Role::Item(Section::Now), zone: last.zone })
    });
    parts.retain(|part| part.role != Role::Item(Section::Now) || !is_outdated(part));
    parts.extend(now);
}

/// A line of the last calls among `parts`, in few words each; empty if there are none.
fn calls_since(parts: &[Part<'_>]) -> String {
    let calls = parts.iter().filter(|part| part.role == Role::Tool).filter_map(|part| part.text.lines().next());
    let calls: Vec<&str> = calls.collect();
    let newest = calls.get(calls.len().saturating_sub(SINCE)..).unwrap_or_default();
    let brief = |line: &&str| {
        let call = line.split(": ").next().unwrap_or(line).trim_end_matches(':');
        let call = call.strip_suffix(" failed").unwrap_or(call);
        let ending = [(" failed: ", " (failed)"), (": no result", " (no result)")];
        let ending = ending.iter().find(|(mark, _)| line.contains(mark)).map_or("", |(_, ending)| ending);
        format!("{}{ending}", clipped(call, CALL))
    };
    let newest: Vec<String> = newest.iter().map(brief).collect();
    if newest.is_empty() { String::new() } else { format!("\n{SINCE_THEN}{}", newest.join("; ")) }
}

/// The start and end of the last short sentence of `text`, or if it has none, of its last item; with the one before, if it
/// announces what comes next.
fn last_statement(text: &str) -> Option<(usize, usize)> {
    let is_said = |kind| matches!(kind, PieceKind::Sentence | PieceKind::Item);
    let pieces = segment(text);
    let last_of = |kind: PieceKind| {
        // A line that introduces nothing more says what comes next.
        let is_whole = |at: usize, piece: &Piece<'_>| !piece.introduces() || at + 1 == pieces.len();
        let says_it =
            |(at, piece): (usize, &Piece<'_>)| piece.kind == kind && units(piece.text) <= PROMPT && is_whole(at, piece);
        (0..).zip(&pieces).filter(|it| says_it(*it)).map(|(at, _)| at).last()
    };
    let last = last_of(PieceKind::Sentence).or_else(|| last_of(PieceKind::Item))?;
    let piece = pieces.get(last)?;
    let before = last.checked_sub(1).and_then(|before| pieces.get(before));
    let before = before.filter(|before| {
        announces(piece.text) && is_said(before.kind) && units(before.text) <= PROMPT && !announces(before.text)
    });
    Some((before.unwrap_or(piece).at, piece.end()))
}
