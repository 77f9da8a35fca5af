//! What entries hang on as the client sees it: progress passed over, preserved segments hung in, and what it skips left out
//! (format: "How resume rebuilds"; T-04, C-09).

use std::collections::HashMap;

use super::record::{Flags, LineNo, Parent};
use super::scan::Kind;
use super::{Index, PreservedSegment};

/// Of larger files, in bytes, clients skip all that stands before the last plain compact boundary.
pub const WHOLE_LIMIT: u64 = 5 * 1024 * 1024;

/// The parents as the client sees them.
pub(super) struct Links<'a> {
    index: &'a Index,
    rehung: HashMap<LineNo, LineNo>,
    skip: Option<Skip>,
}

/// What a resume does not even look at.
#[derive(Clone, Copy)]
struct Skip {
    /// The first line that it looks at: the boundary as it was first written.
    first: LineNo,
    /// The boundary that counts: a later line with the same uuid stands for an earlier one.
    boundary: LineNo,
}

impl Skip {
    /// What is skipped by the last of the boundaries that keep nothing of what stands before them: those that say so, and in
    /// a file over [`WHOLE_LIMIT`] those that do not speak of it (plain ones).
    fn of(index: &Index) -> Option<Self> {
        let is_boundary = |line: &LineNo| {
            let flags = index.record(*line).flags;
            flags.any(Flags::COMPACT_BOUNDARY) && !flags.any(Flags::DROPPED)
        };
        let keeps_nothing = |line: &LineNo| {
            let flags = index.record(*line).flags;
            flags.any(Flags::KEEPS_NOTHING) && !flags.any(Flags::SUPERSEDED)
        };
        let is_plain = |line: &LineNo| index.n_bytes > WHOLE_LIMIT && !index.record(*line).flags.any(Flags::PRESERVES);
        let boundaries = || index.lines().filter(is_boundary);
        let alike =
            |line: LineNo| boundaries().filter(move |other| index.record(*other).uuid == index.record(line).uuid);
        let said = boundaries().rfind(keeps_nothing).and_then(|line| alike(line).next());
        let first = said.max(boundaries().rfind(is_plain))?;
        Some(Self { first, boundary: alike(first).next_back().unwrap_or(first) })
    }
}

impl<'a> Links<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        let mut links = Self { index, rehung: HashMap::new(), skip: Skip::of(index) };
        let ids = index.lines_of(index.preserved.iter().flat_map(PreservedSegment::ids));
        let is_there = |boundary: LineNo| {
            let flags = index.record(boundary).flags;
            !flags.any(Flags::DROPPED.with(Flags::SUPERSEDED)) && !links.is_skipped(boundary)
        };
        let mut rehung = HashMap::new();
        for segment in index.preserved.iter().filter(|segment| is_there(segment.boundary)) {
            let at = |id| ids.get(&id).copied().filter(|line| !links.is_skipped(*line));
            let (Some(anchor), Some(head), Some(tail)) = (at(segment.anchor), at(segment.head), at(segment.tail))
            else {
                continue;
            };
            let entries: Vec<LineNo> = segment.entries.iter().filter_map(|&id| at(id)).collect();
            let is_inside = |line| line == head || line == tail || entries.contains(&line);
            let children = index.lines().filter(|&line| index.record(line).parent() == Parent::At(anchor));
            for child in children.filter(|&line| !is_inside(line) && index.record(line).is_chained()) {
                rehung.insert(child, tail);
            }
            rehung.insert(head, anchor);
            rehung.extend(entries.iter().skip(1).zip(&entries).map(|(&entry, &before)| (entry, before)));
        }
        links.rehung = rehung;
        links
    }

    /// Whether a resume does not even look at `line`.
    pub(super) fn is_skipped(&self, line: LineNo) -> bool {
        self.skip.is_some_and(|skip| line < skip.first)
    }

    /// What `line` hangs on where the entry that it names is skipped: what stands before it, the boundary at last. That is how
    /// clients go on where a parent is not there.
    pub(super) fn healed(&self, line: LineNo) -> Option<LineNo> {
        let skip = self.skip.filter(|_| !self.rehung.contains_key(&line) && !self.is_skipped(line))?;
        let record = self.index.record(line);
        let Parent::At(parent) = record.parent() else { return None };
        if !self.is_skipped(parent) || record.flags.any(Flags::COMPACT_BOUNDARY) {
            return None;
        }
        let is_linked = |before: &LineNo| {
            let other = self.index.record(*before);
            let is_same_side = other.flags.and(Flags::SIDECHAIN) == record.flags.and(Flags::SIDECHAIN);
            other.is_chained()
                && other.kind != Kind::Progress
                && is_same_side
                && *before != skip.boundary
                && !other.flags.any(Flags::SUPERSEDED.with(Flags::DROPPED))
        };
        Some((skip.first.0..line.0).rev().map(LineNo).find(is_linked).unwrap_or(skip.boundary))
    }

    /// The parent with progress entries passed over.
    pub(super) fn bridged(&self, line: LineNo) -> Parent {
        let mut parent = self.parent(line);
        // A circle of progress entries ends nowhere.
        for _ in 0..self.index.records.len() {
            match parent {
                Parent::At(at) if self.index.record(at).kind == Kind::Progress => parent = self.parent(at),
                _ => break,
            }
        }
        parent
    }

    pub(super) fn parent(&self, line: LineNo) -> Parent {
        match self.rehung.get(&line) {
            Some(&parent) => Parent::At(parent),
            None if self.index.record(line).flags.any(Flags::COMPACT_BOUNDARY) => Parent::Root,
            None => self.healed(line).map_or_else(|| self.index.record(line).parent(), Parent::At),
        }
    }
}
