//! The goal among the parts of a summary.

use std::borrow::Cow;

use super::super::bonds::is_question;
use super::super::features::utf16_len;
use super::part::{InputPart, PROMPT, PartRole, SHORT_PROMPT, starts_like_shell_prompt};
use super::section::{Section, Speaker, asks_for};
use crate::language::{PieceKind, classify_sentence, has_goal_label, split_into_pieces, split_label};
use crate::{GOAL_PLACE, PromptTreatment};

/// The fewest units of a prompt that is a goal: "go on" is none.
const GOAL: usize = 24;

/// A prompt of more units than this was pasted for the most part.
const PASTED: usize = 1000;

impl PartRole {
    /// Whether a summary says that it is the goal.
    const fn is_of_goal(self) -> bool {
        matches!(self, Self::Item(Section::Goal) | Self::Loose(Some(Section::Goal)))
    }
}

impl InputPart<'_> {
    /// Whether it is a prompt that says what the work is about: not a rule alone, and not pasted.
    fn is_goal(&self) -> bool {
        let is_rule = |text: &str| Section::of(text, classify_sentence(text), Speaker::Person) == Section::Constraints;
        let lays_down = |text: &str| {
            split_label(text).is_some() && !has_goal_label(text)
                || split_into_pieces(text).iter().all(|it| is_rule(it.text))
        };
        let is_typed = |kind| matches!(kind, PieceKind::Sentence | PieceKind::Item);
        let typed = || {
            split_into_pieces(&self.text)
                .iter()
                .filter(|it| is_typed(it.kind))
                .map(|it| utf16_len(it.text))
                .sum::<usize>()
        };
        let size = utf16_len(&self.text);
        self.role == PartRole::Prompt
            && !only_chooses(&self.text)
            && !starts_like_shell_prompt(&self.text)
            && size >= GOAL
            && !(size <= SHORT_PROMPT && lays_down(&self.text))
            && typed() >= GOAL
    }
}

/// Sets the goal: the first prompt that asks for something, and the newest, which changes it unless it is a question in passing.
/// The goals of before become prompts among others, in the order in which all were typed. Of a long one, how it opens and ends
/// says what it is about.
pub(super) fn set_goal<'t>(
    parts: &mut Vec<InputPart<'t>>,
    prompts: PromptTreatment,
    shorten: fn(&'t str, usize) -> Cow<'t, str>,
) {
    let is_any = |part: &InputPart<'_>| part.role.is_of_goal() || part.is_goal();
    let first = parts.iter().position(|part| is_any(part) && !only_asks(&part.text, false));
    let Some(mut first) = first.or_else(|| parts.iter().position(is_any)) else { return };
    let newest = parts.iter().rposition(|part| part.is_goal() && !only_asks(&part.text, true));
    let carried = || parts.iter().rposition(|part| part.role.is_of_goal());
    let mut last = newest.or_else(carried).unwrap_or(first).max(first);
    let is_former = |at: &usize| parts.get(*at).is_some_and(|part| part.role.is_of_goal());
    let former: Vec<usize> = (0..last).rev().filter(|at| *at != first && is_former(at)).collect();
    for at in former {
        // Each summary carries on the first goal.
        let is_same = parts.get(at).map(|part| &part.text) == parts.get(first).map(|part| &part.text);
        let part = parts.remove(at);
        (first, last) = (first - usize::from(at < first), last - 1);
        if !is_same {
            let to = demote_goal(parts, part, at);
            (first, last) = (first + usize::from(to <= first), last + usize::from(to <= last));
        }
    }
    // The place of one that is the first goal now says nothing.
    let own = parts.get(last).filter(|part| part.role != PartRole::Prompt).map(|part| part.zone);
    let is_stale = |part: &InputPart<'_>| part.text == GOAL_PLACE && Some(part.zone) != own;
    for at in (0..parts.len()).rev().filter(|at| parts.get(*at).is_some_and(is_stale)).collect::<Vec<_>>() {
        parts.remove(at);
        (first, last) = (first - usize::from(at < first), last - usize::from(at < last));
    }
    if prompts == PromptTreatment::Whole && last != first {
        mark_place(parts, last);
    }
    for at in [last, first] {
        let Some(part) = parts.get_mut(at).filter(|part| part.role == PartRole::Prompt) else { continue };
        match part.text {
            Cow::Borrowed(text) if prompts == PromptTreatment::Compete && utf16_len(text) > PROMPT => {
                let zone = part.zone;
                parts.insert(at, InputPart { text: shorten(text, PROMPT), role: PartRole::Goal, zone });
            }
            _ => part.role = PartRole::Goal,
        }
    }
}

/// Adds [`GOAL_PLACE`] where prompts follow the goal at `goal`: a later summary must know which of them came before it.
fn mark_place(parts: &mut Vec<InputPart<'_>>, goal: usize) {
    let Some(InputPart { role, zone, .. }) = parts.get(goal) else { return };
    let (role, zone) = (*role, *zone);
    let is_prompt = |part: &InputPart<'_>| matches!(part.role, PartRole::Prompt | PartRole::Item(Section::Asked));
    let at = if role == PartRole::Prompt {
        goal + 1
    } else {
        let is_of_zone = |part: &InputPart<'_>| part.zone == zone && is_prompt(part);
        parts.iter().rposition(is_of_zone).unwrap_or(goal) + 1
    };
    let is_marked = |part: &InputPart<'_>| part.zone == zone && part.text == GOAL_PLACE;
    if parts.iter().skip(at).any(is_prompt) && !parts.iter().any(is_marked) {
        parts.insert(at, InputPart { text: Cow::Borrowed(GOAL_PLACE), role: PartRole::Item(Section::Asked), zone });
    }
}

/// Whether the text is what the person chose among the options that a client offered, with the questions, and wrote little beside:
/// `"Which store?"="Redis"`.
fn only_chooses(text: &str) -> bool {
    let answers = || text.split("\"=\"").skip(1).map(|rest| rest.split("\", \"").next().unwrap_or_default());
    text.starts_with('"') && answers().next().is_some() && answers().all(|answer| utf16_len(answer) <= SHORT_PROMPT)
}

/// Whether all of the text are questions: with `is_strict`, those that ask about something and for nothing.
fn only_asks(text: &str, is_strict: bool) -> bool {
    let asks = |text: &str| {
        let first = text.split([' ', '\'', '’']).next().unwrap_or_default().to_lowercase();
        let asks_about =
            ["what", "where", "when", "who", "which", "is", "are", "was", "were", "does", "do", "did", "has", "have"];
        is_question(text)
            && (!is_strict && !asks_for(text)
                || asks_about.contains(&first.as_str())
                || ["何？", "何?", "ですか？", "ですか?"].iter().any(|end| text.ends_with(end)))
    };
    split_into_pieces(text).iter().all(|piece| asks(piece.text.trim()))
}

/// Makes `part`, the goal that was at `at`, one prompt among others; of a summary of other make, statements that say themselves
/// what they are. Returns its new place: that of [`GOAL_PLACE`] in its summary, or behind the other prompts there.
fn demote_goal<'t>(parts: &mut Vec<InputPart<'t>>, mut part: InputPart<'t>, at: usize) -> usize {
    if part.role == PartRole::Loose(Some(Section::Goal)) {
        part.role = PartRole::Loose(None);
        parts.insert(at, part);
        return at;
    }
    // A rule somewhere in a pasted text does not make a rule of all of it.
    let is_rule = utf16_len(&part.text) <= PASTED
        && Section::of(&part.text, classify_sentence(&part.text), Speaker::Person) == Section::Constraints;
    part.role = PartRole::Item(if is_rule { Section::Constraints } else { Section::Asked });
    let is_asked = |other: &InputPart<'_>| other.zone == part.zone && other.role == PartRole::Item(Section::Asked);
    if let Some(place) = parts.iter().position(|other| is_asked(other) && other.text == GOAL_PLACE) {
        if let Some(slot) = parts.get_mut(place) {
            *slot = part;
        }
        // Nothing moves.
        return usize::MAX;
    }
    let to = parts.iter().rposition(is_asked).map_or(at, |last| at.max(last + 1));
    parts.insert(to, part);
    to
}
