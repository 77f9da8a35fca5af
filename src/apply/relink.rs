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
    orphans.map(|line| (line, heir(index, dropped, line))).collect()
}

/// The entry that `line` hangs on when its parent goes: the nearest ancestor that stays. Where the conversation forked
/// at the thinking of a message, the rest of that message is found by a resume only while a part of it is an ancestor
/// of `line`; so `line` moves behind that rest.
fn heir(index: &Index, dropped: &LineSet, line: LineNo) -> Option<LineNo> {
    let ancestor = surviving_ancestor(index, dropped, line);
    let message_of = |line: LineNo| index.record(line).message();
    let Parent::At(parent) = index.record(line).parent() else { return ancestor };
    let Some(message) = message_of(parent) else { return ancestor };
    if message_of(line) == Some(message) || ancestor.and_then(message_of) == Some(message) {
        return ancestor;
    }
    let is_rest = |&rest: &LineNo| {
        message_of(rest) == Some(message)
            && index.record(rest).is_chained()
            && !dropped.contains(rest)
            && !descends(index, rest, line)
    };
    index.lines().rev().find(is_rest).or(ancestor)
}

/// Whether `line` hangs below `ancestor`, or in a circle.
fn descends(index: &Index, line: LineNo, ancestor: LineNo) -> bool {
    let mut at = line;
    for _ in 0..index.records.len() {
        match index.record(at).parent() {
            Parent::At(parent) if parent == ancestor => return true,
            Parent::At(parent) => at = parent,
            Parent::Root | Parent::Missing => return false,
        }
    }
    true
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
