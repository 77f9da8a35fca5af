//! The live chain: the entries that a resume would send, found as the real client finds them
//! (format: "How resume rebuilds"; T-04).

use std::collections::BTreeMap;

use super::links::Links;
use super::record::{Flags, LineNo, Parent};
use super::scan::Kind;
use super::{Index, LineSet};

/// The live entries of a transcript.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The live lines in the order of the conversation, which is nearly always that of the file.
    pub lines: Vec<LineNo>,
    /// The same lines as a set.
    pub live: LineSet,
    /// The entry that a resume would go on from, its trailing system entries and attachments left off.
    pub leaf: Option<LineNo>,
    /// Where the walk from the leaf to the root ended.
    pub end: ChainEnd,
    /// The newest message by its timestamp, when it is not on the chain: the client may see it otherwise.
    pub newest_elsewhere: Option<LineNo>,
    /// Whether this is the chain of a subagent's own file, all sidechain (T-08).
    pub is_sidechain: bool,
    /// The live lines that hang on something that a resume skips, each with what it hangs on instead (C-09).
    pub healed: Vec<(LineNo, LineNo)>,
}

/// Where the walk from the leaf to the root ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainEnd {
    /// There is no message to start from.
    #[default]
    Empty,
    /// At an entry without a parent.
    Root,
    /// At a compact boundary.
    CompactBoundary,
    /// At this line, whose parent is not in the file.
    MissingParent(LineNo),
    /// At this line, whose parent had been walked already.
    Cycle(LineNo),
}

impl Chain {
    /// Finds the live chain of `index`.
    #[must_use]
    pub fn find(index: &Index) -> Self {
        let is_main = |line: &LineNo| !index.record(*line).flags.any(Flags::SIDECHAIN);
        let is_message = |line: &LineNo| index.record(*line).is_message();
        let is_sidechain = index.lines().any(|line| is_message(&line))
            && !index.lines().any(|line| is_message(&line) && is_main(&line));
        let parents = Links::new(index);
        let Some(leaf) = find_leaf(index, &parents, is_sidechain) else {
            return Self { is_sidechain, ..Self::default() };
        };
        let (path, end) = walk(index, &parents, tip(index, &parents, leaf, is_sidechain));
        let lines = with_siblings(index, &parents, path);
        let live: LineSet = lines.iter().copied().collect();
        let is_elsewhere = |line: &LineNo| !is_sidechain && !live.contains(*line) && !parents.is_skipped(*line);
        let newest_elsewhere = index.newest.filter(is_elsewhere);
        let healed = lines.iter().filter_map(|line| Some((*line, parents.healed(*line)?))).collect();
        Self { lines, live, leaf: Some(leaf), end, newest_elsewhere, is_sidechain, healed }
    }

    /// Whether `line` is live.
    #[must_use]
    pub fn is_live(&self, line: LineNo) -> bool {
        self.live.contains(line)
    }

    /// The live lines of which each hangs on the one before, whatever its link says: all but what parallel tool calls leave
    /// beside them.
    #[must_use]
    pub fn path(&self, index: &Index) -> Vec<LineNo> {
        let Some(leaf) = self.leaf else { return Vec::new() };
        let links = Links::new(index);
        walk(index, &links, tip(index, &links, leaf, self.is_sidechain)).0
    }

    /// The live messages with their places in the chain, system entries and attachments left out.
    #[must_use]
    pub fn messages<'a>(&'a self, index: &'a Index) -> impl DoubleEndedIterator<Item = (usize, LineNo)> + 'a {
        self.lines.iter().copied().enumerate().filter(|(_, line)| index.record(*line).kind.is_message())
    }
}

/// The leaf: where the last prompt led that the client noted, else the last message of the file.
fn find_leaf(index: &Index, links: &Links<'_>, is_sidechain: bool) -> Option<LineNo> {
    let is_candidate = |index: &Index, line: LineNo| {
        let record = index.record(line);
        record.is_message() && !record.flags.any(Flags::TEAM) && (is_sidechain || !record.flags.any(Flags::SIDECHAIN))
    };
    let noted = index.pointers.iter().filter(|pointer| {
        let record = index.record(pointer.line);
        record.kind == Kind::LastPrompt && !record.flags.any(Flags::DROPPED)
    });
    let targets = index.lines_of(noted.clone().map(|pointer| pointer.target));
    let is_there = |line: &LineNo| !links.is_skipped(*line);
    let noted = noted.rev().find_map(|pointer| targets.get(&pointer.target).copied().filter(is_there));
    if let Some(noted) = noted {
        let newest = newest_descendant(index, links, noted, is_sidechain, is_candidate);
        return newest.or_else(|| message_at_or_above(index, links, noted));
    }
    index.lines().rev().filter(is_there).find(|&line| is_candidate(index, line))
}

/// The last entry that hangs on the leaf.
fn tip(index: &Index, links: &Links<'_>, leaf: LineNo, is_sidechain: bool) -> LineNo {
    newest_descendant(index, links, leaf, is_sidechain, |index, line| index.record(line).is_chained()).unwrap_or(leaf)
}

/// The first message on the way from `line` to the root.
fn message_at_or_above(index: &Index, links: &Links<'_>, line: LineNo) -> Option<LineNo> {
    walk(index, links, line).0.into_iter().rev().find(|&line| index.record(line).is_message())
}

/// The last line of the file, `ancestor` included, that descends from it and that `is_wanted`.
fn newest_descendant(
    index: &Index,
    links: &Links<'_>,
    ancestor: LineNo,
    is_sidechain: bool,
    is_wanted: impl Fn(&Index, LineNo) -> bool,
) -> Option<LineNo> {
    let mut seen = LineSet::default();
    let mut descends = LineSet::default();
    descends.insert(ancestor);
    let is_main = |line| is_sidechain || !index.record(line).flags.any(Flags::SIDECHAIN);
    let candidates =
        index.lines().rev().filter(|&line| is_wanted(index, line) && is_main(line) && !links.is_skipped(line));
    for line in candidates {
        let mut path = Vec::new();
        let mut at = line;
        loop {
            if descends.contains(at) {
                return Some(line);
            }
            if !seen.insert(at) {
                break;
            }
            path.push(at);
            match links.parent(at) {
                Parent::At(parent) => at = parent,
                Parent::Root | Parent::Missing => break,
            }
        }
    }
    None
}

/// The path from the root to `tip`, progress entries left out, and where it ended.
fn walk(index: &Index, links: &Links<'_>, tip: LineNo) -> (Vec<LineNo>, ChainEnd) {
    let mut path = Vec::new();
    let mut seen = LineSet::default();
    let mut at = tip;
    let end = loop {
        if !seen.insert(at) {
            break ChainEnd::Cycle(path.last().copied().unwrap_or(tip));
        }
        if index.record(at).kind != Kind::Progress {
            path.push(at);
        }
        match links.parent(at) {
            Parent::At(parent) => at = parent,
            Parent::Root if index.record(at).flags.any(Flags::COMPACT_BOUNDARY) => break ChainEnd::CompactBoundary,
            Parent::Root => break ChainEnd::Root,
            Parent::Missing => break ChainEnd::MissingParent(at),
        }
    };
    path.reverse();
    (path, end)
}

/// Adds to the path what parallel tool calls leave beside it: the other lines of its assistant messages, and
/// the results that hang on any of them. They follow the last line that their message has on the path.
fn with_siblings(index: &Index, parents: &Links<'_>, path: Vec<LineNo>) -> Vec<LineNo> {
    let on_path: LineSet = path.iter().copied().collect();
    // By message; places on the path count from 1, and 0 is none.
    let mut last_place: Vec<u32> = vec![0; index.prompts.len()];
    for (place, &line) in (1..).zip(&path) {
        let message = index.record(line).message();
        if let Some(last) = message.and_then(|message| last_place.get_mut(message.0 as usize)) {
            *last = place;
        }
    }
    let place_of = |line: LineNo| {
        let message = index.record(line).message()?;
        last_place.get(message.0 as usize)?.checked_sub(1).map(|place| place as usize)
    };
    let mut calls: BTreeMap<usize, Vec<LineNo>> = BTreeMap::new();
    let mut results: BTreeMap<usize, Vec<LineNo>> = BTreeMap::new();
    let is_beside = |line: LineNo| !on_path.contains(line) && !parents.is_skipped(line);
    for line in index.lines().filter(|&line| index.record(line).is_message() && is_beside(line)) {
        let record = index.record(line);
        if let Some(place) = place_of(line) {
            calls.entry(place).or_default().push(line);
        } else if let (true, Parent::At(parent)) = (record.flags.any(Flags::TOOL_RESULT), parents.bridged(line))
            && let Some(place) = place_of(parent)
        {
            results.entry(place).or_default().push(line);
        }
    }
    if calls.is_empty() && results.is_empty() {
        return path;
    }
    let mut lines = Vec::with_capacity(path.len() + calls.len() + results.len());
    for (place, line) in path.into_iter().enumerate() {
        lines.push(line);
        lines.extend(calls.remove(&place).into_iter().flatten());
        lines.extend(results.remove(&place).into_iter().flatten());
    }
    lines
}
