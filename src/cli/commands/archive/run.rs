//! What all verbs of `ctxc archive` have in common.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use anyhow::{Context, anyhow};

use super::{copy, gc, list, search, show, upgrade};
use crate::cli::error::{CommandError, Completion};
use crate::cli::input;
use crate::cli::progress::Progress;
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::stored::{self, session_names};
use crate::cli::tell;
use crate::cli::ui::Ui;
use ctxc_core::apply::{document, prior_summary};
use ctxc_store::{
    Archive, ArchiveUrl, DocumentId, Hit, Kind, Operation, RecordFilter, ancestors, hide_password, stored_bytes,
};
use ctxc_transcript::session;
use ctxc_transcript::session::Places;
use ctxc_transcript::text::Stopped;

/// What is asked, and of which archive.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) asked: Asked,
    /// Where sessions are looked for; nothing without a home.
    pub(crate) places: Option<Places>,
    pub(crate) reporting: Reporting,
}

/// What is asked of an archive.
#[derive(Debug)]
pub(crate) enum Asked {
    List(list::Settings),
    Show(show::Settings),
    Search(search::Settings),
    Copy(copy::Settings),
    Upgrade,
    Gc(gc::Settings),
}

/// An archive that is looked into.
pub(super) struct Desk<'a> {
    /// Its URL, without a password.
    pub(super) url: &'a str,
    pub(super) place: &'a ArchiveUrl,
    pub(super) archive: Box<dyn Archive>,
    pub(super) places: Option<&'a Places>,
    pub(super) reporting: &'a Reporting,
    pub(super) ui: &'a Ui,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &[])?;
    let Settings { archive: url, asked, places, reporting } = settings;
    let place: ArchiveUrl = url.parse().map_err(CommandError::config)?;
    // As it was typed, but for a password.
    let url = &hide_password(url);
    let desk = || {
        let archive = stored::open_existing(&settings.archive)?;
        Ok::<_, CommandError>(Desk { url, place: &place, archive, places: places.as_ref(), reporting, ui })
    };
    match asked {
        Asked::List(asked) => list::run(asked, desk()?),
        Asked::Show(asked) => show::run(asked, &desk()?),
        Asked::Search(asked) => search::run(asked, desk()?),
        Asked::Copy(asked) => copy::run(asked, &desk()?),
        Asked::Gc(asked) => gc::run(asked, desk()?),
        // An older archive on a server is not opened otherwise.
        Asked::Upgrade => upgrade::run(&place, url, reporting, ui),
    }
}

impl Desk<'_> {
    /// Brings the index up to date, with progress where that takes long.
    pub(super) fn index(&mut self) -> Result<(), CommandError> {
        let ui = self.ui;
        let mut bar: Option<Progress> = None;
        let mut n_known = 0;
        self.archive.index(&document, &mut |n_done, total| {
            bar.get_or_insert_with(|| Progress::start(ui, "indexing", total)).advance(n_done - n_known);
            n_known = n_done;
            if Stopped::check(ui.stop()).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        drop(bar);
        Ok(Stopped::check(ui.stop())?)
    }

    /// The names under which the archive knows the session `asked` and those that it was made from. A session whose
    /// file is gone is known by its id.
    pub(super) fn sessions(&self, asked: &str, operations: &[Operation]) -> Result<Vec<String>, CommandError> {
        let missing = match self.places.map(|places| session::find(asked, places)) {
            Some(Ok(found)) => return Ok(ancestors(&session_names(&input::open(&found)?)?, operations)),
            Some(Err(error)) => CommandError::from(error),
            None => anyhow!("no session matches {asked:?} in the archive").into(),
        };
        // Summaries are kept under the id that their messages have, whatever the file was called.
        let batches = self.archive.records(&RecordFilter { kind: Some(Kind::Batch), ..RecordFilter::default() })?;
        let summarised: Vec<String> = batches.into_iter().filter_map(|batch| batch.document.session).collect();
        let known: BTreeSet<&String> = operations
            .iter()
            .flat_map(|it| std::iter::once(&it.session).chain(&it.session_ids))
            .chain(&summarised)
            .collect();
        let beginning: Vec<String> = known.into_iter().filter(|name| name.starts_with(asked)).cloned().collect();
        match beginning.as_slice() {
            [] => Err(missing),
            // A whole id sorts before those that go on.
            [first, _, ..] if first != asked => {
                Err(CommandError::usage(anyhow!("session id {asked:?} is ambiguous: {}", beginning.join(", ")))
                    .hint("use a longer prefix"))
            }
            [first, ..] => Ok(ancestors(std::slice::from_ref(first), operations)),
        }
    }

    /// The batches that the session `asked` starts with, oldest first; `None` where it names none, or its file is gone.
    pub(super) fn batches_of(&self, asked: &str) -> Result<Option<Vec<Hit>>, CommandError> {
        let Some(Ok(found)) = self.places.map(|places| session::find(asked, places)) else { return Ok(None) };
        let reading = Reading::of(&found, self.ui)?;
        let prior = prior_summary(reading.transcript()).with_context(|| format!("read {}", reading.name))?;
        let mut hits = Vec::new();
        for name in prior.map(|prior| prior.batches).unwrap_or_default() {
            let Ok(key) = name.parse() else { continue };
            let record = self.archive.record(Kind::Batch, key)?;
            let id = DocumentId::Record(Kind::Batch, key);
            hits.extend(record.map(|record| Hit { id, document: record.document, operation: None }));
        }
        Ok(Some(hits))
    }

    /// The size of the archive's file, or of its tables on a server.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        stored_bytes(self.place).ok().flatten()
    }
}
