//! Edits rendered: what becomes of the lines of a session by the operations that hold (N-02, N-03).
//!
//! Operations hold their own edits alone. This puts them together, whatever undid or followed what, and adds what the
//! structure of the conversation asks for: links around lines that are left out, and to those that were inserted. What
//! else follows (thinking, the recorded context size) is for [`follow_up`](fn@crate::apply::follow_up).

use std::io;

use super::adopt::reparent_appended;
use super::appended::appended_runs;
use super::chains::{insert_groups, live_groups, stored_chain};
use super::link::link_remaining;
use super::restructure::apply_repairs;
use super::source::LineSource;
use super::take_edits::{Savings, take_edits};
use super::unclosed::drop_closing_of_dropped;
use crate::apply::edit::transcript_changes::TranscriptChanges;
use crate::apply::follow::bounds::LinesBehindVersion;
use crate::apply::follow::revived::drop_revived;
use crate::version::History;
use ctxc_transcript::{Chain, Index, Transcript};

/// A session with the operations of a history, to be written.
#[derive(Debug)]
pub struct ComposedSession {
    /// The index of the base, as its lines are stored.
    pub index: Index,
    /// The live entries of the session and of what was inserted, those included that go.
    pub chain: Chain,
    /// The live entries of the session itself.
    pub stored: Chain,
    /// The changes to the base.
    pub changes: TranscriptChanges,
    /// Lines that clients wrote behind earlier versions.
    pub runs: Vec<LinesBehindVersion>,
}

impl ComposedSession {
    /// The session with this index and chain, without an edit.
    pub(super) fn without_edits(index: Index, chain: Chain) -> Self {
        Self { stored: chain.clone(), changes: TranscriptChanges::default(), runs: Vec::new(), index, chain }
    }
}

/// Puts the operations of `history` together on the lines of `source`, which `index` was built from.
///
/// # Errors
/// When the base cannot be read.
pub fn compose_session(
    source: LineSource<'_>,
    mut index: Index,
    history: &History,
    measured: &Savings,
) -> io::Result<ComposedSession> {
    let LineSource { file, layout, .. } = source;
    let mut changes = TranscriptChanges::default();
    reparent_appended(source, &mut index, &mut changes)?;
    let active = history.active_edits();
    apply_repairs(&mut index, layout, &active, &mut changes);
    let stored = stored_chain(&index, layout);
    // A session without operations keeps the parents that it names.
    let healed = if active.is_empty() { &Chain::default() } else { &stored };
    index.heal_parents_as(healed);
    let transcript = Transcript { file, index: &index, chain: &stored };
    take_edits(layout, transcript, history, &active, measured, &mut changes)?;
    drop_closing_of_dropped(source, &index, &mut changes);
    let groups = live_groups(&stored, layout, &active);
    let mut chain = insert_groups(&stored, &groups);
    link_remaining(file, &index, &stored, &groups, &mut changes)?;
    drop_revived(file, &index, &mut chain, layout, &mut changes)?;
    let runs = appended_runs(source, &index, &chain, history);
    Ok(ComposedSession { index, chain, stored, changes, runs })
}
