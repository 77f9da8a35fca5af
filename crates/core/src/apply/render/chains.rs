//! The conversation of a session with inserted lines: with them, without them, and up to a line.

use std::collections::{HashMap, HashSet};

use crate::version::{Active, Edit, Group, Layout};
use ctxc_transcript::{Chain, ChainEnd, Index, LineNo, LineSet, Parent};

/// The live chain of the session without what was inserted.
pub(super) fn stored_chain(index: &Index, layout: &Layout) -> Chain {
    if layout.summary_groups().next().is_none() {
        return Chain::find(index);
    }
    Chain::find(&without_inserted(index, layout))
}

/// The index as it is without the lines that were inserted.
fn without_inserted(index: &Index, layout: &Layout) -> Index {
    let mut stored = index.clone();
    let inserted: LineSet = layout.summary_groups().flat_map(Group::places).collect();
    for line in inserted.iter() {
        stored.drop_line(line);
    }
    // A line whose parent was inserted gets the last entry before the inserted lines as its parent.
    let mut tips: HashMap<LineNo, Option<LineNo>> = HashMap::new();
    for line in index.lines().filter(|line| !inserted.contains(*line)) {
        let Parent::At(parent) = index.record(line).parent() else { continue };
        if !inserted.contains(parent) {
            continue;
        }
        let Some(group) = layout.summary_groups().find(|group| group.places().any(|it| it == parent)) else { continue };
        if let Some(heir) =
            *tips.entry(group.first).or_insert_with(|| chain_before(&stored, group.first).lines.last().copied())
        {
            stored.relink(line, Some(heir));
        }
    }
    stored
}

/// The inserted lines that a resume may send. A later compaction by the client has cut off the others: those of operations from
/// before its boundary was dropped, if it was.
pub(super) fn live_groups<'a>(stored: &Chain, layout: &'a Layout, active: &[Active<'_>]) -> Vec<&'a Group> {
    let boundary = stored.lines.first().copied().filter(|_| stored.end == ChainEnd::CompactBoundary);
    let Some(boundary) = boundary else { return layout.summary_groups().collect() };
    let drops_it = |it: &&Active<'_>| matches!(it.edit, Edit::Drop(line) if layout.place(line) == Some(boundary));
    let later = active.iter().skip_while(|it| !drops_it(it));
    let later: HashSet<&str> = later.map(|it| it.operation.operation.as_str()).collect();
    let is_live = |group: &&Group| boundary < group.first || later.contains(group.operation.as_str());
    layout.summary_groups().filter(is_live).collect()
}

/// The chain with the inserted lines of `groups` in it, each group before the first entry that stands behind it.
pub(super) fn with_inserted(stored: &Chain, groups: &[&Group]) -> Chain {
    let mut chain = stored.clone();
    for group in groups {
        let at = chain.lines.iter().position(|line| *line >= group.first).unwrap_or(chain.lines.len());
        chain.lines.splice(at..at, group.places());
    }
    chain.live = chain.lines.iter().copied().collect();
    chain
}

/// The chain of the lines before `end`.
pub(super) fn chain_before(index: &Index, end: LineNo) -> Chain {
    let mut before = index.clone();
    for line in index.lines().filter(|line| *line >= end) {
        before.drop_line(line);
    }
    Chain::find(&before)
}
