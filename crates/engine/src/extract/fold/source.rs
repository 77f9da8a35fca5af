//! What a summary is made of: the summary so far, prompts, and what else was said, parted into candidates.

use std::borrow::Cow;
use std::ops::Range;

use super::super::announce::announces;
use super::super::bonds::is_question;
use super::super::features::{self, Carries, Features, Weights, units};
use super::super::lift::{factor, is_courtesy};
use super::super::render::MARK;
use super::super::repeats;
use super::section::{Author, Section, is_labelled};
use super::summary::{self, item_units};
use crate::language::{Classes, Join, Piece, PieceKind, Statement, classes, replaced, reports_error, segment};
use crate::{Prompts, Summarise};

/// What may become an item.
pub(super) struct Candidate<'t> {
    pub(super) section: Section,
    pub(super) text: Cow<'t, str>,
    /// The UTF-16 units that it takes as an item.
    pub(super) cost: usize,
    /// What it carries, by the pieces of its text.
    pub(super) pieces: Range<usize>,
    /// The factor on its worth.
    pub(super) factor: f32,
    /// Whether it stands whole, whatever the room.
    pub(super) is_prompt: bool,
    /// The message or earlier summary that it comes from.
    pub(super) zone: usize,
}

/// All candidates in the order of the conversation, with what they carry.
pub(super) struct Sources<'t> {
    pub(super) candidates: Vec<Candidate<'t>>,
    pub(super) features: Features,
    pub(super) n_zones: usize,
}

/// A text to be parted.
pub(super) struct Part<'t> {
    text: Cow<'t, str>,
    role: Role,
    zone: usize,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
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

impl<'t> Part<'t> {
    /// The parts of `fold`, oldest first; `shorten` brings a text down to so many UTF-16 units.
    pub(super) fn all(fold: &'t Summarise<'_>, shorten: fn(&'t str, usize) -> Cow<'t, str>) -> Vec<Self> {
        let mut parts = Vec::new();
        of_summary(&fold.existing, 0, &mut parts);
        let n_carried = parts.len();
        let mut messages = fold.messages.iter().enumerate().peekable();
        let mut asked: Option<&str> = None;
        while let Some((n, said)) = messages.next() {
            let (text, zone) = (said.text.trim(), n + 1);
            if text.is_empty() {
                continue;
            }
            let goes_on = messages.peek().is_some_and(|(_, next)| next.speaker != "user");
            let role = match said.speaker.as_str() {
                "summary" => {
                    of_summary(&said.text, zone, &mut parts);
                    continue;
                }
                "user" => Role::Prompt,
                "tool" => Role::Tool,
                "assistant" if !goes_on => Role::Conclusion,
                _ => Role::Speech,
            };
            let question = asked.take();
            match role {
                Role::Prompt => parts.push(Self::prompt(text, zone, question, fold.prompts, shorten)),
                Role::Tool if text.len() <= REPORT => parts.push(Part { text: report(text, shorten), role, zone }),
                _ => {
                    asked = if role == Role::Tool { question } else { last_question(text) };
                    parts.push(Part { text: Cow::Borrowed(text), role, zone });
                }
            }
        }
        set_goal(&mut parts, n_carried, fold.prompts, shorten);
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

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
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
    let lays_down = |text: &str| is_labelled(text) || segment(text).iter().all(|piece| is_rule(piece.text));
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
    for line in lines.filter(|line| reports_error(line) && !first.contains(line.trim())) {
        // A line with a name says what the one without says too.
        if units(line) < left && !kept.iter().any(|known| line.split_whitespace().all(|word| known.contains(word))) {
            left -= units(line) + 1;
            kept.push(line);
        }
    }
    if kept.len() == 1 { shorten(text, SHORT) } else { Cow::Owned(kept.join("\n")) }
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

/// Whether the line is one that a view puts around summaries.
fn is_of_view(line: &str) -> bool {
    [
        "[Context Summary",
        "[depth:",
        "## Earliest context",
        "## Recent context",
        "[... ",
        "They are kept. Read them with",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

impl<'t> Sources<'t> {
    /// The candidates of `parts`.
    pub(super) fn of(parts: &'t [Part<'_>], prompts: Prompts) -> Self {
        let mut pieces: Vec<Piece<'t>> = Vec::new();
        let mut ranges = Vec::with_capacity(parts.len());
        // Each part by itself: a fence that one of them leaves open does not reach into the next.
        for part in parts {
            let from = pieces.len();
            pieces.append(&mut segment(&part.text));
            ranges.push(from..pieces.len());
        }
        let features = features::read(&pieces, Weights::SUMMARY);
        let counts = repeats::counts(&pieces);
        let mut candidates = Vec::new();
        for (part, range) in parts.iter().zip(ranges) {
            let of_part = Parting { part, all: &pieces, features: &features, counts: &counts };
            if part.is_in_ledger() {
                continue;
            }
            if let Some(section) = part.whole(prompts) {
                candidates.extend(of_part.whole(section, range, prompts));
            } else {
                of_part.candidates(range, &mut candidates);
            }
        }
        without_replaced(&mut candidates);
        let n_zones = parts.last().map_or(1, |part| part.zone + 1);
        Self { candidates, features, n_zones }
    }
}

/// Drops what a later statement replaces, and all but the newest of what is said again, sentence by sentence. Prompts that
/// stand whole stay.
fn without_replaced(candidates: &mut Vec<Candidate<'_>>) {
    let mut statements = Vec::new();
    let mut owners: Vec<(usize, Range<usize>)> = Vec::new();
    for (idx, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| candidate.may_change()) {
        for piece in segment(&candidate.text) {
            statements.push(Some(Statement::of(piece.text)));
            owners.push((idx, piece.at..piece.end()));
        }
    }
    let replaced = replaced(&statements);
    let mut owners = owners.into_iter().zip(replaced).peekable();
    let mut at = 0;
    candidates.retain_mut(|candidate| {
        let mut kept: Vec<&str> = Vec::new();
        let mut has_lost = false;
        while let Some(((_, range), is_replaced)) = owners.next_if(|((owner, _), _)| *owner == at) {
            has_lost |= is_replaced;
            kept.extend(candidate.text.get(range).filter(|_| !is_replaced));
        }
        at += 1;
        if !has_lost {
            return true;
        }
        let kept = kept.join(" ");
        candidate.cost = item_units(&kept);
        candidate.text = Cow::Owned(kept);
        !candidate.text.is_empty()
    });
}

impl Candidate<'_> {
    /// Whether it states something that a later one may replace.
    fn may_change(&self) -> bool {
        let may_change = match self.section {
            Section::Constraints | Section::Asked | Section::Goal | Section::Decided | Section::Open => true,
            Section::Found | Section::Also => self.factor >= 1.0,
            Section::Done | Section::Failed => false,
        };
        may_change && !self.is_prompt
    }
}

impl Role {
    const fn author(self) -> Author {
        match self {
            Self::Prompt | Self::Task | Self::Goal | Self::Answer => Author::Person,
            Self::Tool => Author::Tool,
            Self::Item(_) | Self::Loose | Self::Conclusion | Self::Speech => Author::Model,
        }
    }

    /// What comes from it is worth so many times what is new in it.
    const fn factor(self, section: Section) -> f32 {
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
    /// Whether it only names a file that was changed: the ledger knows it.
    fn is_in_ledger(&self) -> bool {
        let changes = ["Edit ", "MultiEdit ", "Write ", "NotebookEdit "];
        self.role == Role::Tool
            && !self.text.contains([':', '\n'])
            && changes.iter().any(|verb| self.text.starts_with(verb))
    }

    /// The section of a part that is one item; `None` where it is parted.
    fn whole(&self, prompts: Prompts) -> Option<Section> {
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
    fn section(&self, text: &str, kind: PieceKind, classes: Classes) -> Section {
        let is_printed = matches!(kind, PieceKind::Code | PieceKind::Row | PieceKind::Log);
        Section::of(text, classes, if is_printed { Author::Tool } else { self.role.author() })
    }
}

/// The pieces of a part among those of all.
struct Parting<'a, 't> {
    part: &'t Part<'t>,
    all: &'a [Piece<'t>],
    features: &'a Features,
    counts: &'a [u32],
}

/// Up to so many bytes what a tool prints goes as one, shortened to so many UTF-16 units.
const REPORT: usize = 4000;
const SHORT: usize = 280;
const SHORT_REPORT: usize = 100;
/// The most bytes of neighbouring lines of code, or of a table, that go as one.
const BLOCK: usize = 400;

impl<'t> Parting<'_, 't> {
    /// The part as one item.
    fn whole(&self, section: Section, range: Range<usize>, prompts: Prompts) -> Option<Candidate<'t>> {
        let Part { text, role, zone } = self.part;
        let text = Cow::Borrowed(text.trim());
        let is_of_person =
            matches!(role, Role::Prompt | Role::Task | Role::Goal | Role::Item(Section::Asked | Section::Goal));
        let is_prompt = prompts == Prompts::Whole && is_of_person;
        (!text.is_empty()).then(|| Candidate {
            section,
            cost: item_units(&text),
            text,
            pieces: range,
            factor: role.factor(section),
            is_prompt,
            zone: *zone,
        })
    }

    /// Adds the candidates of the pieces in `range`.
    fn candidates(&self, range: Range<usize>, candidates: &mut Vec<Candidate<'t>>) {
        let mut at = range.start;
        while at < range.end {
            let end = self.block_end(at, range.end);
            candidates.extend(self.candidate(at..end, range.end));
            at = end;
        }
    }

    /// Where the block that starts at `at` ends: lines of code and rows of a table say little one by one.
    fn block_end(&self, at: usize, limit: usize) -> usize {
        let block =
            |idx: usize| self.all.get(idx).filter(|piece| matches!(piece.kind, PieceKind::Code | PieceKind::Row));
        let Some(first) = block(at) else { return self.line_end(at, limit) };
        let goes_on = |idx: &usize| {
            block(*idx).is_some_and(|piece| piece.kind == first.kind && piece.end() - first.at <= BLOCK)
                && !self.features.pieces.get(*idx).is_some_and(|carries| carries.classes.has(Classes::ERROR))
        };
        at + 1 + (at + 1..limit).take_while(goes_on).count()
    }

    /// Where what goes with the piece at `at` ends. What a tool prints is read by lines: a stop in it ends no sentence.
    fn line_end(&self, at: usize, limit: usize) -> usize {
        if self.part.role != Role::Tool {
            return at + 1;
        }
        let goes_on = |idx: &usize| self.all.get(*idx).is_some_and(|piece| piece.join == Join::Sentence);
        at + 1 + (at + 1..limit).take_while(goes_on).count()
    }

    fn candidate(&self, range: Range<usize>, limit: usize) -> Option<Candidate<'t>> {
        let (first, carries) = (self.all.get(range.start)?, self.features.pieces.get(range.start)?);
        let last = self.all.get(range.end - 1)?;
        let count = self.counts.get(range.start).copied().unwrap_or(1);
        if count == 0 && range.len() == 1 || is_frame(first, carries) {
            return None;
        }
        let whole = self.part.text.get(first.at..last.end())?;
        let text = without_marker(whole, first.kind);
        if text.is_empty() {
            return None;
        }
        let goes_on = range.end < limit && self.all.get(range.end).is_some_and(|next| next.join == Join::Fragment);
        let text = marked(text, first.join == Join::Fragment, goes_on, count);
        let classes = self.features.pieces.get(range.clone())?.iter().fold(Classes::NONE, |all, one| all | one.classes);
        let section = self.part.section(whole, first.kind, classes);
        let is_said = !matches!(self.part.role, Role::Prompt | Role::Tool);
        let says_little =
            self.part.role != Role::Loose && section == Section::Also && (carries.n_facts == 0 || text.contains('│'));
        if is_said
            && (says_little || is_introduction(first) || section != Section::Decided && announces(text.trim_start()))
        {
            return None;
        }
        Some(Candidate {
            section,
            cost: if text.contains('\n') { item_units(&text) } else { units(&text) + 3 },
            text,
            pieces: range,
            factor: factor(first, carries, is_introduction(first)) * self.part.role.factor(section),
            is_prompt: false,
            zone: self.part.zone,
        })
    }
}

/// Whether the piece says nothing without what stands under it, or nothing at all.
fn is_frame(piece: &Piece<'_>, carries: &Carries) -> bool {
    match piece.kind {
        PieceKind::Heading | PieceKind::FenceOpen | PieceKind::FenceClose | PieceKind::Ornament => true,
        PieceKind::Item | PieceKind::Sentence | PieceKind::Code | PieceKind::Log | PieceKind::Row => {
            is_courtesy(carries) || is_introduction(piece) && carries.n_facts == 0
        }
    }
}

fn is_introduction(piece: &Piece<'_>) -> bool {
    piece.text.trim_end_matches('*').ends_with([':', '：'])
}

/// The item of a list without its dash, for it gets one of ours.
fn without_marker(text: &str, kind: PieceKind) -> &str {
    let text = text.trim();
    let marker = if kind == PieceKind::Item { ["- ", "* ", "+ ", "• "].as_slice() } else { &[] };
    marker.iter().find_map(|marker| text.strip_prefix(marker)).map_or(text, str::trim_start)
}

/// `text` with marks where it is cut, and how often it came.
fn marked(text: &str, is_cut_before: bool, is_cut_behind: bool, count: u32) -> Cow<'_, str> {
    if !is_cut_before && !is_cut_behind && count <= 1 {
        return Cow::Borrowed(text);
    }
    let before = if is_cut_before { format!("{MARK} ") } else { String::new() };
    let behind = if is_cut_behind { format!(" {MARK}") } else { String::new() };
    let count = if count > 1 { format!(" (x{count})") } else { String::new() };
    Cow::Owned(format!("{before}{text}{behind}{count}"))
}
