//! Links around entries that go: a child hangs on the nearest ancestor that stays.

use std::collections::{BTreeMap, HashMap};

use crate::transcript::{Index, LineNo, LineSet, MessageIdx, Parent};

/// The new parent of every entry that stays while its parent goes; `None` makes it a root.
#[must_use]
pub(super) fn relinks(index: &Index, dropped: &LineSet) -> BTreeMap<LineNo, Option<LineNo>> {
    if dropped.is_empty() {
        return BTreeMap::new();
    }
    let dropped_parent = |line| match index.record(line).parent() {
        Parent::At(parent) if dropped.contains(parent) && !dropped.contains(line) => Some(parent),
        _ => None,
    };
    let orphans: Vec<(LineNo, LineNo)> =
        index.lines().filter_map(|line| dropped_parent(line).map(|parent| (line, parent))).collect();
    let rests = rests(index, dropped, &orphans);
    orphans.into_iter().map(|(line, parent)| (line, heir(index, dropped, &rests, line, parent))).collect()
}

/// What stays of the messages of which a part goes that others hang on: their lines, in file order.
fn rests(index: &Index, dropped: &LineSet, orphans: &[(LineNo, LineNo)]) -> HashMap<MessageIdx, Vec<LineNo>> {
    let message_of = |line: LineNo| index.record(line).message();
    let forked = orphans.iter().filter(|(line, parent)| message_of(*line) != message_of(*parent));
    let mut rests: HashMap<MessageIdx, Vec<LineNo>> =
        forked.filter_map(|(_, parent)| Some((message_of(*parent)?, Vec::new()))).collect();
    if rests.is_empty() {
        return rests;
    }
    for line in index.lines().filter(|&line| index.record(line).is_chained() && !dropped.contains(line)) {
        if let Some(rest) = message_of(line).and_then(|message| rests.get_mut(&message)) {
            rest.push(line);
        }
    }
    rests
}

/// The entry that `line` hangs on when its `parent` goes: the nearest ancestor that stays. Where the conversation forked
/// at the thinking of a message, the rest of that message is found by a resume only while a part of it is an ancestor
/// of `line`; so `line` moves behind that rest.
fn heir(
    index: &Index,
    dropped: &LineSet,
    rests: &HashMap<MessageIdx, Vec<LineNo>>,
    line: LineNo,
    parent: LineNo,
) -> Option<LineNo> {
    let ancestor = surviving_ancestor(index, dropped, line);
    let message_of = |line: LineNo| index.record(line).message();
    let Some(message) = message_of(parent) else { return ancestor };
    if message_of(line) == Some(message) || ancestor.and_then(message_of) == Some(message) {
        return ancestor;
    }
    let rest = rests.get(&message).into_iter().flatten().rev();
    rest.copied().find(|&rest| !descends(index, rest, line)).or(ancestor)
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
