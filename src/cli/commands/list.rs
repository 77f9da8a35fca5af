//! `ctxc list`: list sessions.

use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;

use crate::cli::error::{CommandError, Completion, Kind};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::stored;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::kept::KeptList;
use crate::report::list::{List, Origin, Projects, SessionRow};
use crate::report::size::counted;
use ctxc_core::apply::title_of;
use ctxc_core::version::kept_sessions;
use ctxc_store::{Archive, Operation, Operations, hide_password};
use ctxc_transcript::session::{By, Candidate, Found, Places, of_all_projects, of_project, session_id};
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{Calibration, Totals, Transcript, turns};

/// What to list.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) which: Which,
    pub(crate) places: Places,
    pub(crate) projects: Projects,
    pub(crate) limit: usize,
    /// The URL of the archive, which knows where sessions come from.
    pub(crate) archive: Option<String>,
    pub(crate) reporting: Reporting,
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Sessions of which there are files.
    Files,
    /// Those that the archive keeps: `--kept`.
    Kept,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &[])?;
    if settings.which == Which::Kept {
        return list_kept(settings, ui);
    }
    let mut sessions = match settings.projects {
        Projects::Current => of_project(&settings.places)?,
        Projects::All => of_all_projects(&settings.places)?,
    };
    let n_more = sessions.len().saturating_sub(settings.limit);
    sessions.truncate(settings.limit);
    let archive = settings.archive.as_deref().and_then(|url| stored::open_existing(url).ok());
    let mut rows = Vec::new();
    for session in &sessions {
        rows.push(row(session, archive.as_deref(), ui)?);
    }
    let list = List::new(rows, n_more as u64, Timestamp::now(), settings.projects);
    tell(&settings.reporting, ui, &list, list.text(ui.look()))?;
    match (list.sessions.is_empty(), settings.projects) {
        (true, Projects::Current) => {
            ui.status("this project has no session");
            ui.hint("run `ctxc list --all` for all projects");
        }
        (true, Projects::All) => ui.status(format_args!("no session under {}", settings.places.projects.display())),
        (false, _) if n_more > 0 => {
            ui.hint(format_args!("{}: --limit lists more", counted(n_more as u64, "older session")));
        }
        (false, _) => {}
    }
    Ok(Completion::Full)
}

fn list_kept(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let Some(url) = &settings.archive else { return Err(anyhow!("no archive configured").into()) };
    let sessions = match stored::open_if_there(url)? {
        Some(archive) => kept_sessions(&*archive)?,
        None => Vec::new(),
    };
    let list = KeptList::new(hide_password(url), sessions, settings.limit, Timestamp::now());
    tell(&settings.reporting, ui, &list, list.text(ui.look()))?;
    if list.kept.is_empty() {
        ui.status(format_args!("no sessions in {}", list.archive));
        ui.hint("run `ctxc keep --all` to store all sessions");
    } else if list.n_more > 0 {
        ui.hint(format_args!("{}: --limit lists more", counted(list.n_more, "older session")));
    }
    Ok(Completion::Full)
}

/// What is told of one session. One that cannot be read is listed with the reason.
fn row(session: &Candidate, archive: Option<&dyn Archive>, ui: &Ui) -> Result<SessionRow, CommandError> {
    let Candidate { path, modified, .. } = session;
    let mut row = SessionRow {
        id: session_id(path).unwrap_or_default().to_owned(),
        path: path.display().to_string(),
        folder: None,
        title: None,
        problem: None,
        turns: 0,
        tokens: Tokens::ZERO,
        tokens_chars4: Tokens::ZERO,
        bytes: 0,
        modified: Timestamp::try_from(*modified).unwrap_or(Timestamp::UNIX_EPOCH),
        origin: archive.and_then(|archive| origin(archive, path)),
    };
    let found = Found::File { path: path.clone(), by: By::Id };
    let reading = match Reading::of(&found, ui) {
        Ok(reading) => reading,
        Err(error) if error.kind() == Kind::Interrupted => return Err(error),
        Err(error) => {
            row.problem = Some(error.sentence());
            return Ok(row);
        }
    };
    let Transcript { index, chain, .. } = reading.transcript();
    row.bytes = index.fingerprint.len;
    row.turns = turns(index, chain).len() as u64;
    let totals = Totals::of(index, chain);
    row.tokens_chars4 = totals.all();
    row.tokens = Calibration::learn(index, chain).context(totals.context());
    match title_of(reading.transcript()).and_then(|title| Ok((title, reading.project()?))) {
        Ok((title, folder)) => (row.title, row.folder) = (Some(title), folder),
        Err(error) => row.problem = Some(error.to_string()),
    }
    Ok(row)
}

/// The operation that wrote the session, if one that changed something did.
fn origin(archive: &dyn Archive, path: &Path) -> Option<Origin> {
    let operation = archive.operations(Operations::At(path)).ok()?.into_iter().rev().find(Operation::changes)?;
    let source = operation.source.path.as_deref().and_then(|source| {
        session_id(source).map(str::to_owned).or_else(|| Some(source.file_name()?.to_string_lossy().into_owned()))
    });
    Some(Origin { verb: operation.verb, operation: operation.id, source })
}
