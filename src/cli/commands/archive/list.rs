//! `ctxc archive list`: list the newest operations, or the newest entries of one kind.

use super::run::Desk;
use crate::cli::error::{CommandError, Completion};
use crate::cli::tell::tell;
use crate::report::archive::{FoundEntry, Holdings, OperationRow, SizeRow};
use ctxc_core::apply::document;
use ctxc_core::version::session_sizes;
use ctxc_store::{Kind, Operations, Query, Search};

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Operations, or entries.
    Content,
    /// What sessions take up: `--size`.
    Sizes,
}

/// What to list.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) what: What,
    /// The session as it was typed.
    pub(crate) session: Option<String>,
    /// Entries of this kind, instead of operations.
    pub(crate) kind: Option<Kind>,
    pub(crate) limit: u32,
}

pub(super) fn run(settings: &Settings, mut desk: Desk<'_>) -> Result<Completion, CommandError> {
    let mut operations = desk.archive.operations(Operations::All)?;
    let sessions = match &settings.session {
        Some(session) => desk.sessions(session, &operations)?,
        None => Vec::new(),
    };
    let contents = desk.archive.contents()?;
    let mut holdings = Holdings::new(desk.url.to_owned(), contents, desk.file_bytes(), desk.ui.look());
    if settings.what == What::Sizes {
        let sizes = session_sizes(&*desk.archive)?;
        holdings.sessions = sizes.into_iter().take(settings.limit as usize).map(SizeRow::new).collect();
        tell(desk.reporting, desk.ui, &holdings, &holdings)?;
        desk.ui.status(holdings.summary());
        return Ok(Completion::Full);
    }
    let named = match (settings.kind, &settings.session) {
        (Some(Kind::Batch), Some(session)) => desk.batches_of(session)?,
        _ => None,
    };
    if let Some(batches) = named {
        // Those that were summarised again since, and those of steps that were undone, do not hold for this session.
        if batches.is_empty() {
            desk.ui.hint("the transcript has no summaries; run without --session to list all");
        }
        let newest = batches.into_iter().rev().take(settings.limit as usize);
        holdings.entries = newest.map(|hit| FoundEntry::new("", hit)).collect();
    } else if let Some(kind) = settings.kind {
        desk.index()?;
        let query = Query { text: "", kind: Some(kind), speaker: None, sessions: &sessions, limit: settings.limit };
        let entries = desk.archive.find(&Search::Newest(&query), &document)?;
        holdings.entries = entries.into_iter().map(|hit| FoundEntry::new("", hit)).collect();
    } else {
        operations.retain(|operation| sessions.is_empty() || sessions.contains(&operation.session));
        let newest = operations.iter().rev().take(settings.limit as usize);
        holdings.operations = newest.map(OperationRow::new).collect();
    }
    tell(desk.reporting, desk.ui, &holdings, &holdings)?;
    desk.ui.status(holdings.summary());
    Ok(Completion::Full)
}
