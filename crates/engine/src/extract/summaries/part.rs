//! What a summary is made of, before it is parted: the summary so far, prompts, and what else was said.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::bonds::is_question;
use super::super::features::units;
use super::section::{Author, Section};
use super::summary;
use crate::language::{Classes, PieceKind, classes, is_goal, label, reports_error, segment};
use crate::{Prompts, Summarize};

/// A text to be parted.
pub(super) struct Part<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) role: Role,
    pub(super) zone: usize,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An item of a summary.
    Item(Section),
    /// A summary of other make.
    Loose,
    /// The last prompt that asks for something.
    Goal,
    /// The first prompt of all, which says what the work is about.
    Task,
    Prompt,
    /// What the person said to a question, with the question.
    Answer,
    /// What a model said last before somebody else spoke: its conclusion.
    Conclusion,
    Speech,
    Tool,
}

/// The most UTF-16 units of a prompt that stays in one piece where prompts compete, and where they stand whole.
const PROMPT: usize = 280;
const SHORT_PROMPT: usize = 160;
const WHOLE_PROMPT: usize = 4000;
/// The fewest units of a prompt that is a goal: "go on" is none.
const GOAL: usize = 24;
/// The most units of an answer that says nothing without its question.
const ANSWER: usize = 40;
/// Up to so many bytes what a tool prints goes as one, shortened to so many UTF-16 units.
const REPORT: usize = 4000;
const SHORT: usize = 280;
const SHORT_REPORT: usize = 100;

impl<'t> Part<'t> {
    /// The parts of `wanted`, oldest first; `shorten` brings a text down to so many UTF-16 units.
    pub(super) fn all(wanted: &'t Summarize<'_>, shorten: fn(&'t str, usize) -> Cow<'t, str>) -> Vec<Self> {
        let mut parts = Vec::new();
        of_summary(&wanted.existing, 0, &mut parts);
        let n_carried = parts.len();
        let mut messages = wanted.messages.iter().enumerate().peekable();
        let mut asked: Option<&str> = None;
        let mut carried = HashMap::new();
        while let Some((n, said)) = messages.next() {
            let (text, zone) = (said.text.trim(), n + 1);
            if text.is_empty() {
                continue;
            }
            let goes_on = messages.peek().is_some_and(|(_, next)| next.speaker != "user");
            let role = match said.speaker.as_str() {
                "summary" => {
                    let n_before = parts.len();
                    of_summary(&said.text, zone, &mut parts);
                    if wanted.prompts == Prompts::Whole {
                        carry_on(&mut parts, n_before, &mut carried);
                    }
                    continue;
                }
                "user" => Role::Prompt,
                "tool" => Role::Tool,
                "assistant" if !goes_on => Role::Conclusion,
                _ => Role::Speech,
            };
            let question = asked.take();
            match role {
                Role::Prompt => parts.push(Self::prompt(text, zone, question, wanted.prompts, shorten)),
                Role::Tool if text.len() <= REPORT => parts.push(Part { text: report(text, shorten), role, zone }),
                _ => {
                    asked = if role == Role::Tool { question } else { last_question(text) };
                    parts.push(Part { text: Cow::Borrowed(text), role, zone });
                }
            }
        }
        set_goal(&mut parts, n_carried, wanted.prompts, shorten);
        parts
    }

    fn prompt(
        text: &'t str,
        zone: usize,
        question: Option<&'t str>,
        prompts: Prompts,
        shorten: fn(&'t str, usize) -> Cow<'t, str>,
    ) -> Self {
        match question {
            Some(question) if units(text) <= ANSWER => {
                Part { text: Cow::Owned(format!("{question}\n{text}")), role: Role::Answer, zone }
            }
            _ if prompts == Prompts::Whole => Part { text: shorten(text, WHOLE_PROMPT), role: Role::Prompt, zone },
            _ => Part { text: Cow::Borrowed(text), role: Role::Prompt, zone },
        }
    }
}

/// Drops the prompts of the parts from `n_before` on, which are of one summary, that an earlier summary has: each carries on the one
/// before. They keep their place, and are what the newest says that they are. `carried` has the places of those that were there.
fn carry_on<'t>(parts: &mut Vec<Part<'t>>, n_before: usize, carried: &mut HashMap<Cow<'t, str>, Vec<usize>>) {
    let mut n_seen: HashMap<Cow<'t, str>, usize> = HashMap::new();
    for part in parts.split_off(n_before) {
        if matches!(part.role, Role::Item(Section::Asked | Section::Goal | Section::Constraints)) {
            let places = carried.entry(part.text.clone()).or_default();
            let nth = n_seen.entry(part.text.clone()).or_default();
            *nth += 1;
            if let Some(earlier) = places.get(*nth - 1).and_then(|at| parts.get_mut(*at)) {
                earlier.role = part.role;
                continue;
            }
            places.push(parts.len());
        }
        parts.push(part);
    }
}

/// The newest prompt that asks for something is the goal; what was the goal before is one prompt among others. Of a long
/// one, how it opens and ends says what it is about.
fn set_goal<'t>(
    parts: &mut Vec<Part<'t>>,
    n_carried: usize,
    prompts: Prompts,
    shorten: fn(&'t str, usize) -> Cow<'t, str>,
) {
    // What somebody lays down, and nothing else, holds beside what is worked on.
    let is_rule = |text: &str| Section::of(text, classes(text), Author::Person) == Section::Constraints;
    let lays_down =
        |text: &str| label(text).is_some() && !is_goal(text) || segment(text).iter().all(|piece| is_rule(piece.text));
    let is_goal = |part: &Part<'_>| {
        let size = units(&part.text);
        part.role == Role::Prompt && size >= GOAL && !(size <= SHORT_PROMPT && lays_down(&part.text))
    };
    let Some(goal) = parts.iter().rposition(is_goal) else { return };
    // In the place that it has among what was asked before.
    if let Some(at) = parts.iter().take(n_carried).position(|part| part.role == Role::Item(Section::Goal)) {
        let mut part = parts.remove(at);
        let section = Section::of(&part.text, classes(&part.text), Author::Person);
        part.role = Role::Item(if section == Section::Constraints { section } else { Section::Asked });
        let is_asked = |part: &Part<'_>| part.role == Role::Item(Section::Asked);
        let last = parts.iter().take(n_carried - 1).rposition(is_asked);
        parts.insert(last.map_or(at, |last| last + 1), part);
    }
    if n_carried == 0
        && let Some(task) = parts.iter().position(is_goal)
        && task != goal
        && let Some(part) = parts.get_mut(task)
        && units(&part.text) <= PROMPT
    {
        part.role = Role::Task;
    }
    let Some(part) = parts.get_mut(goal) else { return };
    match part.text {
        Cow::Borrowed(text) if prompts == Prompts::Compete && units(text) > PROMPT => {
            let zone = part.zone;
            parts.insert(goal, Part { text: shorten(text, PROMPT), role: Role::Goal, zone });
        }
        _ => part.role = Role::Goal,
    }
}

/// What a tool did, in few words: of an error, the lines that report it.
fn report<'t>(text: &'t str, shorten: fn(&'t str, usize) -> Cow<'t, str>) -> Cow<'t, str> {
    if units(text) <= SHORT_REPORT {
        return Cow::Borrowed(text);
    }
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let mut kept = vec![first];
    let mut left = SHORT.saturating_sub(units(first));
    for line in lines.filter(|line| reports_error(line)) {
        if units(line) < left && says_more(line, &kept) {
            left -= units(line) + 1;
            kept.push(line);
        }
    }
    if kept.len() == 1 { shorten(text, SHORT) } else { Cow::Owned(kept.join("\n")) }
}

/// Whether the line has a word that none of `known` has, apart from how runners of tests write the outcome of each.
fn says_more(line: &str, known: &[&str]) -> bool {
    let is_known = |word: &str| known.iter().any(|line| line.contains(word));
    let word_of_runner = |word: &str| ["test", "FAILED", "FAIL", "failed"].contains(&word);
    line.split_whitespace().any(|word| word.contains(char::is_alphanumeric) && !word_of_runner(word) && !is_known(word))
}

/// The question with which `text` ends.
fn last_question(text: &str) -> Option<&str> {
    let tail = text.get(text.len().saturating_sub(400)..).unwrap_or(text);
    let pieces = segment(tail);
    pieces.last().filter(|piece| is_question(piece.text) && units(piece.text) <= PROMPT).map(|piece| piece.text.trim())
}

/// A summary as its items, and what stands beside them.
fn of_summary(text: &str, zone: usize, parts: &mut Vec<Part<'_>>) {
    let summary = summary::read(text);
    let loose: Vec<&str> = summary.loose.lines().filter(|line| !is_of_view(line)).collect();
    let loose = loose.join("\n");
    let items = summary.items.into_iter().filter(|item| !item.text.trim().is_empty());
    parts.extend(items.map(|item| Part { text: Cow::Owned(item.text), role: Role::Item(item.section), zone }));
    if !loose.trim().is_empty() {
        parts.push(Part { text: Cow::Owned(loose), role: Role::Loose, zone });
    }
}

/// Whether the line is one that a view puts around summaries, ours or that of a client: it tells nothing of the session.
fn is_of_view(line: &str) -> bool {
    [
        "[Context Summary",
        "[depth:",
        "## Earliest context",
        "## Recent context",
        "[... ",
        "They are kept. Read them with",
        "This session is being continued from a previous conversation",
        "The summary below covers the earlier portion of the conversation",
        "If you need specific details from before compaction",
        "Please continue the conversation from where we left off",
        "Continue the conversation from where it left off",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

impl Role {
    pub(super) const fn author(self) -> Author {
        match self {
            Self::Prompt | Self::Task | Self::Goal | Self::Answer => Author::Person,
            Self::Tool => Author::Tool,
            Self::Item(_) | Self::Loose | Self::Conclusion | Self::Speech => Author::Model,
        }
    }

    /// What comes from it is worth so many times what is new in it.
    pub(super) const fn factor(self, section: Section) -> f32 {
        match self {
            Self::Task => 2.0,
            // What somebody asked for tells what all the rest is about.
            Self::Prompt | Self::Goal | Self::Item(Section::Asked | Section::Constraints | Section::Goal) => 1.5,
            Self::Answer | Self::Conclusion => 1.2,
            // What a tool did stands in its files; where it failed stands nowhere else.
            Self::Tool => match section {
                Section::Failed => 0.9,
                _ => 0.3,
            },
            Self::Item(_) | Self::Loose | Self::Speech => 1.0,
        }
    }
}

impl Part<'_> {
    /// Whether it only tells what the ledger knows: a file that was changed, or the tests that failed in a run.
    pub(super) fn is_in_ledger(&self) -> bool {
        let changes = ["Edit ", "MultiEdit ", "Write ", "NotebookEdit "];
        let is_change = !self.text.contains([':', '\n']) && changes.iter().any(|verb| self.text.starts_with(verb));
        let mut lines = self.text.lines().map(str::trim);
        let names_tests = |line: &str| ["failed: ", "test result: "].iter().any(|start| line.starts_with(start));
        let is_run = lines.next().is_some_and(|first| first.contains("failed: exit code "))
            && lines.next().is_some_and(|line| line.starts_with("failed: "))
            && lines.all(names_tests);
        self.role == Role::Tool && (is_change || is_run)
    }

    /// The section of a part that is one item; `None` where it is parted.
    pub(super) fn whole(&self, prompts: Prompts) -> Option<Section> {
        match self.role {
            Role::Item(section) => Some(section),
            Role::Goal => Some(Section::Goal),
            Role::Task => Some(Section::Asked),
            Role::Answer => Some(Section::Decided),
            Role::Prompt if units(&self.text) <= SHORT_PROMPT => {
                Some(Section::of(&self.text, classes(&self.text), Author::Person))
            }
            Role::Prompt if prompts == Prompts::Whole => Some(Section::Asked),
            Role::Tool if self.text.len() <= REPORT => Some(Section::of(&self.text, Classes::NONE, Author::Tool)),
            Role::Prompt | Role::Loose | Role::Conclusion | Role::Speech | Role::Tool => None,
        }
    }

    /// The section of `text` of these classes: code and what tools print decide nothing, whatever words are in them.
    pub(super) fn section(&self, text: &str, kind: PieceKind, classes: Classes) -> Section {
        let is_printed = matches!(kind, PieceKind::Code | PieceKind::Row | PieceKind::Log);
        Section::of(text, classes, if is_printed { Author::Tool } else { self.role.author() })
    }
}
