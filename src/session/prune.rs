//! Removing superseded and obsolete content.

use super::error::CommandError;
use crate::report::prune::{PruneReport, why_unchanged};
use crate::session::open::OpenSession;
use crate::session::options::RunMode;
use crate::session::rewrite::OperationIntent;
use ctxc_core::apply::{PruneSelection, TranscriptChanges};

/// Prunes the session in `work`, as the operation named `verb`.
///
/// # Errors
/// When anything fails; then nothing has changed.
pub(crate) fn prune_session(
    verb: &'static str,
    pruning: &PruneSelection,
    work: &mut OpenSession<'_>,
) -> Result<PruneReport, CommandError> {
    if work.settings.mode == RunMode::Do {
        work.probe_output()?;
    }
    let mut changes = TranscriptChanges::default();
    let reading = &work.reading;
    let pruned = reading.name_errors(ctxc_core::apply::prune_transcript(
        reading.transcript(),
        pruning,
        &work.settings.archive_ref,
        &mut changes,
    ))?;
    if pruned.keeps_dead {
        work.ui.print_warning("inactive entries are kept: the newest message is one of them");
    }
    let intent = OperationIntent::without_calls(verb, why_unchanged(&pruned.rows));
    let outcome = work.apply_changes(changes, pruning.thinking_reach(), intent)?;
    Ok(PruneReport::new(outcome, pruned))
}
