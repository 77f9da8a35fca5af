//! Refusals of changes to sessions of Codex, by name and before anything is written.

use std::path::Path;

use anyhow::anyhow;

use super::codex_lock::{CodexLock, lock_codex_session};
use super::error::CommandError;
use super::reading::SessionReading;
use crate::session::options::{Consent, OutputChoice, RewriteSettings, RunMode};
use crate::terminal::ui::Ui;
use ctxc_core::apply::TranscriptChanges;
use ctxc_transcript::session::{forks_of, rollout_home};
use ctxc_transcript::{Flags, Format, LineNo, read_line};

/// Refuses a session of Codex that cannot be changed, or not in this way. One that is to be replaced is locked until the returned
/// value goes.
pub(crate) fn refuse_session(
    reading: &SessionReading,
    settings: &RewriteSettings,
    ui: &Ui,
) -> Result<Option<CodexLock>, CommandError> {
    let (index, name) = (&reading.index, &reading.name);
    if index.format != Format::Codex {
        return Ok(None);
    }
    let is_in_place = matches!(settings.output, OutputChoice::InPlace(_));
    let is_replaced = is_in_place && settings.replaces_rollouts;
    if is_replaced && index.rollout.is_paginated {
        return Err(CommandError::from(anyhow!(
            "{name} is paginated: Codex has places in the file noted elsewhere, so it is not replaced"
        ))
        .with_hint("only rollouts in the legacy form (`history_mode`) are replaced in place; nothing was written"));
    }
    if index.rollout.has_rollbacks() && !settings.replaces_rollouts {
        return Err(CommandError::from(anyhow!(
            "{name} has turns that were taken back (`thread_rolled_back`), which ctxc reads and does not change"
        ))
        .with_hint("fork it in Codex, and change the fork"));
    }
    let Some(id) = header_id(reading)? else {
        return Err(CommandError::from(anyhow!(
            "{name} does not begin with `session_meta`, and Codex would not open it"
        ))
        .with_hint("what it says is shown by `ctxc show`; nothing was written"));
    };
    if is_in_place && !is_replaced {
        refuse_appending(reading, settings, &id, ui)?;
    }
    match &reading.path {
        Some(path) if is_replaced && settings.mode == RunMode::Do => {
            refuse_forked(path, &id)?;
            lock_codex_session(path, &id).map(Some)
        }
        _ => Ok(None),
    }
}

/// Refuses to append to a rollout that Codex has open, that is a fork, or without the consent of the user.
fn refuse_appending(
    reading: &SessionReading,
    settings: &RewriteSettings,
    id: &str,
    ui: &Ui,
) -> Result<(), CommandError> {
    let Some(path) = reading.path.as_deref() else {
        return Err(CommandError::usage(anyhow!("forks of Codex are not changed in place"))
            .with_hint("leave out --in-place for a new session, which needs no parent"));
    };
    lock_codex_session(path, id)?;
    if settings.codex_in_place == Consent::Given || settings.mode == RunMode::Show {
        return Ok(());
    }
    let error = match ui.ask_yes_no("append to the session? No provider was seen to take an edited history")? {
        Some(true) => return Ok(()),
        Some(false) => anyhow!("cancelled: nothing was written"),
        None => {
            anyhow!("sessions of Codex are changed in place only with your consent, as it was tried with no provider")
        }
    };
    Err(CommandError::from(error)
        .with_hint("leave out --in-place for a new session, or set codex_in_place = true in your own ctxc.toml"))
}

/// The id in the header of a rollout, which is the one that counts for Codex.
pub(crate) fn header_id(reading: &SessionReading) -> Result<Option<String>, CommandError> {
    if reading.index.n_lines() == 0 {
        return Ok(None);
    }
    let mut buffer = Vec::new();
    let line = reading.name_errors(read_line(reading.session_file(), &reading.index, LineNo(0), &mut buffer))?;
    let id = reading.index.scan_line(line).session_id.and_then(|id| id.string_in(line));
    Ok(id.map(|id| String::from_utf8_lossy(id).into_owned()))
}

/// Refuses to replace the rollout at `path` of the session `id` if others begin with a part of its file: they name bytes of it.
fn refuse_forked(path: &Path, id: &str) -> Result<(), CommandError> {
    let followed = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(home) = rollout_home(&followed) else { return Ok(()) };
    let forks = forks_of(id, home)?;
    let Some(first) = forks.first() else { return Ok(()) };
    let more = if forks.len() > 1 { format!(" and {} more", forks.len() - 1) } else { String::new() };
    Err(CommandError::from(anyhow!("{}{more} begins with a part of {}", first.display(), path.display()))
        .with_hint("Codex could not open such a fork any more (`history_base`); nothing was written"))
}

/// Refuses to cut messages off a session of Codex: what the client says to the model would go with them.
pub(crate) fn refuse_cutting(reading: &SessionReading) -> Result<(), CommandError> {
    if reading.index.format != Format::Codex {
        return Ok(());
    }
    Err(CommandError::from(anyhow!("messages of a Codex session are not cut off"))
        .with_hint("`ctxc fit` and `ctxc compact` replace the oldest by a summary"))
}

/// Refuses changes of a Codex session that its provider may reject: to output of the model, and to context that the
/// client sends.
pub(crate) fn refuse_changes(reading: &SessionReading, plan: &TranscriptChanges) -> Result<(), CommandError> {
    let index = &reading.index;
    if index.format != Format::Codex {
        return Ok(());
    }
    let is_models = |line| index.record(line).message_idx().is_some();
    let is_context = |line| reading.chain.is_live(line) && index.record(line).flags.any(Flags::META);
    if plan.dropped.iter().any(is_context) {
        return refuse_cutting(reading);
    }
    if plan.edits.keys().any(|line| is_models(*line) && plan.is_seen(*line)) {
        return Err(CommandError::from(anyhow!("answers and calls of a Codex session are not changed"))
            .with_hint("name prompts or results; a provider may refuse a response that is not whole"));
    }
    Ok(())
}
