//! Dead entries that go with live ones: what hangs on them, and the trees that stand among them.

use std::ops::Range;

use crate::apply::edit::rewrite::Rewrite;
use ctxc_transcript::{Chain, Index, LineNo, Parent};

/// What becomes of a dead entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unknown,
    /// It is on the way that is being walked.
    Walked,
    Stays,
    Goes,
}

/// Drops every dead entry that hangs on one that `rewrite` drops: the progress of its calls, branches that were rewound.
/// With them go the trees, such as those of subagents, that start inside `range` and hang on nothing live.
pub(in crate::apply) fn drop_dependents(index: &Index, chain: &Chain, range: &Range<LineNo>, rewrite: &mut Rewrite) {
    let mut fates = vec![Fate::Unknown; index.records.len()];
    let mut way = Vec::new();
    for line in index.lines().filter(|&line| index.record(line).is_chained() && !chain.is_live(line)) {
        let mut at = line;
        let fate = loop {
            if chain.is_live(at) {
                break if rewrite.dropped.contains(at) { Fate::Goes } else { Fate::Stays };
            }
            let Some(fate) = fates.get_mut(at.idx()) else { break Fate::Stays };
            if matches!(fate, Fate::Stays | Fate::Goes) {
                break *fate;
            }
            let is_circle = *fate == Fate::Walked;
            *fate = Fate::Walked;
            way.push(at);
            match index.record(at).parent() {
                Parent::At(parent) if !is_circle => at = parent,
                _ => break if range.contains(&at) { Fate::Goes } else { Fate::Stays },
            }
        };
        for line in way.drain(..) {
            if let Some(slot) = fates.get_mut(line.idx()) {
                *slot = fate;
            }
        }
    }
    for line in index.lines().filter(|line| fates.get(line.idx()) == Some(&Fate::Goes)) {
        rewrite.drop_line(line);
    }
}
