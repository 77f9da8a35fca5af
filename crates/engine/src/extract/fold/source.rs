//! What a summary is made of: the summary so far, prompts, and what else was said, parted into candidates.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::super::features::{self, Carries, Features, Weights, units};
use super::super::lift::{factor, is_courtesy};
use super::super::render::MARK;
use super::super::repeats;
use super::section::Section;
use super::summary::{self, item_units};
use crate::Fold;
use crate::language::{Classes, Join, Piece, PieceKind, fold_hash, reports_error, segment};

/// What may become an item.
pub(super) struct Candidate<'t> {
    pub(super) section: Section,
    pub(super) text: Cow<'t, str>,
    /// The UTF-16 units that it takes as an item.
    pub(super) cost: usize,
    /// What it carries, by the pieces of its text.
    pub(super) pieces: Range<usize>,
    /// The factor on what is new in it.
    pub(super) factor: f32,
    pub(super) group: Group,
    /// The message or earlier summary that it comes from.
    pub(super) zone: usize,
}

/// Where a candidate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// A summary so far.
    Carried,
    /// A prompt.
    Prompt,
    /// What else was said.
    Said,
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
    Prompt,
    /// What a model said last before somebody else spoke: its conclusion.
    Conclusion,
    Speech,
    Tool,
}

impl<'t> Part<'t> {
    /// The parts of `fold`, oldest first; `shorten` brings a text down to so many UTF-16 units, of which a prompt may keep
    /// `most`.
    pub(super) fn all(fold: &Fold<'t>, most: usize, shorten: fn(&'t str, usize) -> Cow<'t, str>) -> Vec<Self> {
        let mut parts = Vec::new();
        of_summary(fold.existing, 0, &mut parts);
        let mut messages = fold.messages.iter().enumerate().peekable();
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
            let text = match role {
                Role::Prompt => shorten(text, most),
                Role::Tool if text.len() <= REPORT => shorten(text, SHORT),
                Role::Item(_) | Role::Loose | Role::Conclusion | Role::Speech | Role::Tool => Cow::Borrowed(text),
            };
            parts.push(Part { text, role, zone });
        }
        parts
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// A summary as its items, and what stands beside them.
fn of_summary(text: &str, zone: usize, parts: &mut Vec<Part<'_>>) {
    let summary = summary::read(text);
    let items = summary.items.into_iter().filter(|item| !item.text.trim().is_empty());
    parts.extend(items.map(|item| Part { text: Cow::Owned(item.text), role: Role::Item(item.section), zone }));
    if !summary.loose.trim().is_empty() {
        parts.push(Part { text: Cow::Owned(summary.loose), role: Role::Loose, zone });
    }
}

impl<'t> Sources<'t> {
    /// The candidates of `parts`.
    pub(super) fn of(parts: &'t [Part<'_>]) -> Self {
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
        let mut seen = HashSet::new();
        for (part, range) in parts.iter().zip(ranges) {
            let group = part.role.group();
            if let Some(section) = part.whole() {
                if seen.insert(folded(&part.text)) {
                    let text = Cow::Borrowed(part.text.trim());
                    let cost = item_units(&text);
                    let (factor, zone) = (part.role.factor(section), part.zone);
                    candidates.push(Candidate { section, text, cost, pieces: range, factor, group, zone });
                }
                continue;
            }
            let of_part = Parting { part, all: &pieces, features: &features, counts: &counts };
            of_part.candidates(range, &mut candidates);
        }
        let n_zones = parts.last().map_or(1, |part| part.zone + 1);
        Self { candidates, features, n_zones }
    }
}

impl Role {
    const fn group(self) -> Group {
        match self {
            Self::Item(_) | Self::Loose => Group::Carried,
            Self::Prompt => Group::Prompt,
            Self::Conclusion | Self::Speech | Self::Tool => Group::Said,
        }
    }

    /// What comes from it is worth so many times what is new in it.
    fn factor(self, section: Section) -> f32 {
        match self {
            // What somebody asked for earlier tells what all the rest is about.
            Self::Item(Section::Asked) => 1.5,
            Self::Conclusion => 1.4,
            // What a tool did stands in its files; where it failed stands nowhere else.
            Self::Tool if section != Section::Failed => 0.35,
            Self::Item(_) | Self::Loose | Self::Prompt | Self::Speech | Self::Tool => 1.0,
        }
    }
}

impl Part<'_> {
    /// The section of a part that is one item; `None` where it is parted.
    fn whole(&self) -> Option<Section> {
        match self.role {
            Role::Item(section) => Some(section),
            Role::Prompt => Some(Section::Asked),
            Role::Tool if self.text.len() <= REPORT => {
                Some(self.section(&self.text, PieceKind::Sentence, Classes::NONE))
            }
            Role::Loose | Role::Conclusion | Role::Speech | Role::Tool => None,
        }
    }

    /// The section of `text` of these classes: code and what tools print decide nothing, whatever words are in them.
    fn section(&self, text: &str, kind: PieceKind, classes: Classes) -> Section {
        let is_printed = self.role == Role::Tool || matches!(kind, PieceKind::Code | PieceKind::Row | PieceKind::Log);
        match is_printed {
            true if reports_error(text) => Section::Failed,
            true => Section::Also,
            false => Section::of(text, classes),
        }
    }
}

/// A hash of a text that white space does not change.
fn folded(text: &str) -> u64 {
    text.split_whitespace().fold(0, |hash: u64, word| hash.rotate_left(5) ^ fold_hash(word))
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
const SHORT: usize = 400;
/// The most bytes of neighbouring lines of code, or of a table, that go as one.
const BLOCK: usize = 400;

impl<'t> Parting<'_, 't> {
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
        Some(Candidate {
            section,
            cost: if text.contains('\n') { item_units(&text) } else { units(&text) + 3 },
            text,
            pieces: range,
            factor: factor(first, carries, is_introduction(first)) * self.part.role.factor(section),
            group: self.part.role.group(),
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
