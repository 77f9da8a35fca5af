//! The goal among the parts of a summary.

use std::borrow::Cow;

use super::super::bonds::is_question;
use super::super::features::units;
use super::part::{PROMPT, Part, Role, SHORT_PROMPT, is_of_terminal};
use super::section::{Section, Speaker};
use crate::Prompts;
use crate::language::{PieceKind, classes, is_goal, label, segment};

/// The fewest units of a prompt that is a goal: "go on" is none.
const GOAL: usize = 24;

/// A prompt of more units than this was pasted for the most part.
const PASTED: usize = 1000;

impl Role {
    /// Whether a summary says that it is the goal.
    const fn is_of_goal(self) -> bool {
        matches!(self, Self::Item(Section::Goal) | Self::Loose(Some(Section::Goal)))
    }
}

impl Part<'_> {
    /// Whether it is a prompt that says what the work is about: not a rule alone, and not pasted.
    fn is_goal(&self) -> bool {
        let is_rule = |text: &str| Section::of(text, classes(text), Speaker::Person) == Section::Constraints;
        let lays_down =
            |text: &str| label(text).is_some() && !is_goal(text) || segment(text).iter().all(|it| is_rule(it.text));
        let is_typed = |kind| matches!(kind, PieceKind::Sentence | PieceKind::Item);
        let typed =
            || segment(&self.text).iter().filter(|it| is_typed(it.kind)).map(|it| units(it.text)).sum::<usize>();
        let size = units(&self.text);
        self.role == Role::Prompt
            && !is_of_terminal(&self.text)
            && size >= GOAL
            && !(size <= SHORT_PROMPT && lays_down(&self.text))
            && typed() >= GOAL
    }
}

/// The goal is the first prompt that asks for something, and the newest, which changes it unless it is a question in passing;
/// the newest of before is one prompt among others. Of a long one, how it opens and ends says what it is about.
pub(super) fn set_goal<'t>(parts: &mut Vec<Part<'t>>, prompts: Prompts, shorten: fn(&'t str, usize) -> Cow<'t, str>) {
    let n_carried = parts.iter().take_while(|part| part.zone == 0).count();
    let newest = parts.iter().rposition(|part| part.is_goal() && !only_asks(&part.text));
    let first = parts.iter().position(|part| part.role.is_of_goal() || part.is_goal());
    let (Some(first), Some(last)) =
        (first, newest.or_else(|| parts.iter().rposition(|part| part.role.is_of_goal())).or(first))
    else {
        return;
    };
    // Those between, each in the place that it has among what was asked before.
    let is_former = |at: &usize| parts.get(*at).is_some_and(|part| part.role.is_of_goal());
    let former: Vec<usize> = (first + 1..last).rev().filter(is_former).collect();
    let mut n_same = 0;
    for at in former {
        // Each summary carries on the first goal.
        if parts.get(at).map(|part| &part.text) == parts.get(first).map(|part| &part.text) {
            parts.remove(at);
            n_same += 1;
        } else {
            demote(parts, at, n_carried);
        }
    }
    for at in [last - n_same, first] {
        let Some(part) = parts.get_mut(at).filter(|part| part.role == Role::Prompt) else { continue };
        match part.text {
            Cow::Borrowed(text) if prompts == Prompts::Compete && units(text) > PROMPT => {
                let zone = part.zone;
                parts.insert(at, Part { text: shorten(text, PROMPT), role: Role::Goal, zone });
            }
            _ => part.role = Role::Goal,
        }
    }
}

/// Whether all of the text asks about something, and none of it for something.
fn only_asks(text: &str) -> bool {
    let asks = |text: &str| {
        let first = text.split([' ', '\'', '’']).next().unwrap_or_default().to_lowercase();
        let asks_about =
            ["what", "where", "when", "who", "which", "is", "are", "was", "were", "does", "do", "did", "has", "have"];
        is_question(text)
            && (asks_about.contains(&first.as_str())
                || ["何？", "何?", "ですか？", "ですか?"].iter().any(|end| text.ends_with(end)))
    };
    segment(text).iter().all(|piece| asks(piece.text.trim()))
}

/// Makes the goal at `at` one prompt among others; of a summary of other make, statements that say themselves what they are.
fn demote(parts: &mut Vec<Part<'_>>, at: usize, n_carried: usize) {
    let mut part = parts.remove(at);
    if part.role == Role::Loose(Some(Section::Goal)) {
        part.role = Role::Loose(None);
        return parts.insert(at, part);
    }
    // A rule somewhere in a pasted text does not make a rule of all of it.
    let is_rule = units(&part.text) <= PASTED
        && Section::of(&part.text, classes(&part.text), Speaker::Person) == Section::Constraints;
    part.role = Role::Item(if is_rule { Section::Constraints } else { Section::Asked });
    let carried = parts.iter().take(n_carried.saturating_sub(1));
    let last = carried.enumerate().rev().find(|(_, part)| part.role == Role::Item(Section::Asked));
    parts.insert(last.map_or(at, |(last, _)| at.max(last + 1)), part);
}
