//! Refusals of changes to sessions of Codex, by name and before anything is written.

use anyhow::anyhow;

use super::error::CommandError;
use super::reading::Reading;
use crate::session::options::{Output, Rewriting};
use ctxc_core::apply::Rewrite;
use ctxc_transcript::{Flags, Format};

/// Refuses a session of Codex that cannot be changed, or not in this way.
pub(crate) fn refuse_session(reading: &Reading, settings: &Rewriting) -> Result<(), CommandError> {
    let (index, name) = (&reading.index, &reading.name);
    if index.format != Format::Codex {
        return Ok(());
    }
    if matches!(settings.output, Output::InPlace(_)) {
        return Err(CommandError::usage(anyhow!("sessions of Codex are not changed in place"))
            .hint("leave out --in-place for a new session: Codex has places in the file noted elsewhere"));
    }
    if index.rollout.is_rolled_back() {
        return Err(CommandError::from(anyhow!(
            "{name} has turns that were taken back (`thread_rolled_back`), which ctxc reads and does not change"
        ))
        .hint("fork it in Codex, and change the fork"));
    }
    let is_header = index.records.first().is_some_and(|record| record.session_at != ctxc_transcript::SessionAt::NONE);
    if !is_header {
        return Err(CommandError::from(anyhow!(
            "{name} does not begin with `session_meta`, and Codex would not open it"
        ))
        .hint("what it says is shown by `ctxc show`; nothing was written"));
    }
    Ok(())
}

/// Refuses to cut messages off a session of Codex: what the client says to the model would go with them.
pub(crate) fn refuse_cutting(reading: &Reading) -> Result<(), CommandError> {
    if reading.index.format != Format::Codex {
        return Ok(());
    }
    Err(CommandError::from(anyhow!("messages of a Codex session are not cut off"))
        .hint("`ctxc fit` and `ctxc compact` replace the oldest by a summary"))
}

/// Refuses changes of a session of Codex that its provider may not take: of what the model said, and of what the client says to it.
pub(crate) fn refuse_changes(reading: &Reading, plan: &Rewrite) -> Result<(), CommandError> {
    let index = &reading.index;
    if index.format != Format::Codex {
        return Ok(());
    }
    let is_models = |line| index.record(line).message().is_some();
    let is_context = |line| reading.chain.is_live(line) && index.record(line).flags.any(Flags::META);
    if plan.dropped.iter().any(is_context) {
        return refuse_cutting(reading);
    }
    if plan.edits.keys().any(|line| is_models(*line) && plan.is_seen(*line)) {
        return Err(CommandError::from(anyhow!("answers and calls of a Codex session are not changed"))
            .hint("name prompts or results; a provider may refuse a response that is not whole"));
    }
    Ok(())
}
