//! `ctxc archive search`: find entries by their words, and by what they mean.

use std::collections::HashSet;

use anyhow::anyhow;

use super::run::Desk;
use crate::cli::error::{CommandError, Completion};
use crate::cli::meaning;
use crate::cli::settings::Meaning;
use crate::cli::tell::tell;
use crate::report::archive::Found;
use ctxc_core::apply::folded_batches;
use ctxc_store::{DocumentId, Kind, Operations, Query};

/// What to look for.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) query: String,
    /// The session as it was typed.
    pub(crate) session: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) speaker: Option<String>,
    pub(crate) limit: u32,
    /// How entries are found by what they mean; nothing where only by their words.
    pub(crate) meaning: Option<Meaning>,
}

pub(super) fn run(settings: &Settings, mut desk: Desk<'_>) -> Result<Completion, CommandError> {
    let mut query = Query {
        text: &settings.query,
        kind: settings.kind,
        speaker: settings.speaker.as_deref(),
        sessions: &[],
        limit: settings.limit,
    };
    if !query.has_words() {
        return Err(CommandError::usage(anyhow!("the query {:?} has no letters or digits", settings.query))
            .hint("use a word or a part of one"));
    }
    let sessions = match &settings.session {
        Some(session) => desk.sessions(session, &desk.archive.operations(Operations::All)?)?,
        None => Vec::new(),
    };
    query.sessions = &sessions;
    desk.index()?;
    // A summary that went up in another one repeats it, unless summaries are what is asked for.
    let folded = if settings.kind.is_none() { folded_batches(&*desk.archive)? } else { HashSet::new() };
    query.limit = settings.limit.saturating_add(u32::try_from(folded.len()).unwrap_or(u32::MAX));
    let (mut hits, meant) = meaning::find(&mut *desk.archive, &query, settings.meaning.as_ref(), desk.ui)?;
    hits.retain(|hit| !(matches!(hit.id, DocumentId::Record(..)) && folded.contains(&hit.id.digest().to_string())));
    hits.truncate(settings.limit as usize);
    let found = Found::new(&settings.query, hits, meant);
    tell(desk.reporting, desk.ui, &found, &found)?;
    if found.hits.is_empty() {
        desk.ui.status(format_args!("no match in {} for {:?}", desk.url, settings.query));
    }
    if let Some(first) = found.hits.first() {
        desk.ui.hint(format_args!("run `ctxc archive show {}` for the full text", first.id()));
    }
    Ok(Completion::Full)
}
