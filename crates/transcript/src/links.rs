//! The parents of entries as the client sees them: progress passed over, preserved segments linked in, and what it skips missing
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
    first_read: Option<LineNo>,
}

/// The first line that a resume looks at, where it skips any: the last of the boundaries that keep nothing of what precedes
/// them, as it was first written. These are the boundaries that say so, and in a file over [`WHOLE_LIMIT`] those that do not
/// speak of it (plain ones).
fn first_read(index: &Index) -> Option<LineNo> {
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
    let first_alike = |line: LineNo| boundaries().find(|other| index.record(*other).uuid == index.record(line).uuid);
    let said = boundaries().rfind(keeps_nothing).and_then(first_alike);
    said.max(boundaries().rfind(is_plain))
}

impl<'a> Links<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        let mut links = Self { index, rehung: HashMap::new(), first_read: first_read(index) };
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
            let children = index.lines().filter(|&line| index.named_parent(line) == Parent::At(anchor));
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
        self.first_read.is_some_and(|first| line < first)
    }

    /// Whether `line` is linked anew because a boundary keeps a segment.
    pub(super) fn is_moved(&self, line: LineNo) -> bool {
        self.rehung.contains_key(&line)
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
            None => match self.index.named_parent(line) {
                Parent::At(parent) if self.is_skipped(parent) => Parent::Missing,
                parent => parent,
            },
        }
    }
}
