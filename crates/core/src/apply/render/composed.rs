//! Edits rendered: what becomes of the lines of a session by the operations that hold (N-02, N-03).
//!
//! Operations hold their own edits alone. This puts them together, whatever undid or followed what, and adds what the
//! structure of the conversation asks for: links around lines that are left out, and to those that were inserted. What
//! else follows (thinking, the recorded context size) is for [`follow_up`](fn@crate::apply::follow_up).

use std::collections::HashMap;
use std::fs::File;
use std::io;

use super::adopt::adopt;
use super::appended::{AppendedRun, appended_runs};
use super::link::link;
use super::take_edits::take_edits;
use crate::apply::edit::rewrite::Rewrite;
use crate::apply::follow::revived::{drop_revived, keep_healed};
use crate::version::{Group, History, Layout, Run, Version};
use ctxc_transcript::edit::Splice;
use ctxc_transcript::text::Digest;
use ctxc_transcript::{Chain, Index, LineNo, Parent};

/// A session with the operations of a history, to be written.
#[derive(Debug)]
pub struct Composed {
    /// The index of the base, as its lines are stored.
    pub index: Index,
    /// The live entries of the session and of what was inserted, those included that go.
    pub chain: Chain,
    /// The live entries of the session itself.
    pub stored: Chain,
    /// What is to change in the base.
    pub rewrite: Rewrite,
    /// What a client wrote behind earlier versions.
    pub runs: Vec<AppendedRun>,
    /// The session ids of what they wrote under others than that which is asked for. Once all else has followed.
    pub identities: Vec<(LineNo, Splice)>,
}

/// The input of a rendering.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The lines, stored and inserted.
    pub file: &'a File,
    /// Which line stands where.
    pub layout: &'a Layout,
    /// Where the stored lines were read, in order.
    pub runs: &'a [Run],
    /// The versions that clients went on from, with their histories, by their keys.
    pub versions: &'a HashMap<Digest, (Version, History)>,
    /// The session id that lines get which clients wrote behind a version under another; none where all get it anyway.
    pub identity: Option<&'a str>,
}

/// Puts the operations of `history` together.
///
/// # Errors
/// When the base cannot be read.
pub fn composed(source: Source<'_>, history: &History) -> io::Result<Composed> {
    let Source { file, layout, .. } = source;
    let mut file_again = file;
    io::Seek::rewind(&mut file_again)?;
    let mut index = Index::build(file)?;
    let mut rewrite = Rewrite::default();
    let identities = adopt(source, &mut index, &mut rewrite)?;
    let stored = stored_chain(&index, layout);
    let active = history.active();
    take_edits(file, &index, &stored, layout, history, &active, &mut rewrite)?;
    let mut chain = with_inserted(&stored, layout);
    link(file, &index, &stored, layout, &mut rewrite)?;
    keep_healed(&stored, &mut rewrite);
    drop_revived(file, &index, &mut chain, layout, &mut rewrite)?;
    let runs = appended_runs(source, &index, &chain, history);
    Ok(Composed { index, chain, stored, rewrite, runs, identities })
}

/// The live chain of the session without what was inserted.
fn stored_chain(index: &Index, layout: &Layout) -> Chain {
    if layout.groups().is_empty() {
        return Chain::find(index);
    }
    Chain::find(&without_inserted(index, layout))
}

/// The index as it is without the lines that were inserted.
pub(in crate::apply) fn without_inserted(index: &Index, layout: &Layout) -> Index {
    let mut stored = index.clone();
    for line in layout.groups().iter().flat_map(Group::places) {
        stored.drop_line(line);
    }
    // What hangs on an inserted line hangs on what stands before that.
    let mut tips: HashMap<LineNo, Option<LineNo>> = HashMap::new();
    for line in index.lines().filter(|line| layout.inserted(*line).is_none()) {
        let Parent::At(parent) = index.record(line).parent() else { continue };
        if layout.inserted(parent).is_none() {
            continue;
        }
        let Some(group) = layout.groups().iter().find(|group| group.places().any(|it| it == parent)) else { continue };
        if let Some(heir) =
            *tips.entry(group.first).or_insert_with(|| chain_before(&stored, group.first).lines.last().copied())
        {
            stored.relink(line, Some(heir));
        }
    }
    stored
}

/// The chain with the inserted lines in it, each group before the first entry that stands behind it.
fn with_inserted(stored: &Chain, layout: &Layout) -> Chain {
    let mut chain = stored.clone();
    for group in layout.groups() {
        let at = chain.lines.iter().position(|line| *line >= group.first).unwrap_or(chain.lines.len());
        chain.lines.splice(at..at, group.places());
    }
    chain.live = chain.lines.iter().copied().collect();
    chain
}

/// What a resume sends of the lines before `end`.
pub(super) fn chain_before(index: &Index, end: LineNo) -> Chain {
    let mut before = index.clone();
    for line in index.lines().filter(|line| *line >= end) {
        before.drop_line(line);
    }
    Chain::find(&before)
}
