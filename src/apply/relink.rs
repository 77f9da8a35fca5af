//! Links around entries that go: a child hangs on the nearest ancestor that stays.

use std::collections::BTreeMap;

use crate::transcript::{Index, LineNo, LineSet, Parent};

/// The new parent of every entry that stays while its parent goes; `None` makes it a root.
#[must_use]
pub(super) fn relinks(index: &Index, dropped: &LineSet) -> BTreeMap<LineNo, Option<LineNo>> {
    if dropped.is_empty() {
        return BTreeMap::new();
    }
    let orphans = index.lines().filter(|&line| match index.record(line).parent() {
        Parent::At(parent) => dropped.contains(parent) && !dropped.contains(line),
        Parent::Root | Parent::Missing => false,
    });
    orphans.map(|line| (line, surviving_ancestor(index, dropped, line))).collect()
}

/// The nearest ancestor of `line` that is not dropped.
#[must_use]
pub(super) fn surviving_ancestor(index: &Index, dropped: &LineSet, line: LineNo) -> Option<LineNo> {
    let mut at = line;
    // No path is longer than there are dropped lines, unless it goes round in a circle.
    for _ in 0..=dropped.len() {
        match index.record(at).parent() {
            Parent::At(parent) if dropped.contains(parent) => at = parent,
            Parent::At(parent) => return Some(parent),
            Parent::Root | Parent::Missing => return None,
        }
    }
    None
}
