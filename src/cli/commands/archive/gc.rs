//! `ctxc archive gc`: drop what has served its time, and give its space back.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use jiff::{SignedDuration, Timestamp};

use super::run::Desk;
use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::Mode;
use crate::cli::tell::tell;
use crate::report::archive::Swept;
use crate::report::size;
use ctxc_core::version::{Lineage, VersionError, lineages};
use ctxc_store::{Archive, Cleanup, Dropped, Sweep};

/// What may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Also drop originals of operations older than this.
    pub(crate) original_age: Option<SignedDuration>,
    /// Also drop sessions that were not used for this long.
    pub(crate) session_age: Option<SignedDuration>,
    pub(crate) mode: Mode,
    pub(crate) consent: Consent,
}

/// Whether somebody is asked before originals or sessions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Somebody is.
    Asked,
    /// It was given with the command: `--yes`.
    Given,
}

pub(super) fn run(settings: &Settings, mut desk: Desk<'_>) -> Result<Completion, CommandError> {
    let now = Timestamp::now();
    let cleanup = Cleanup::at(now, settings.original_age);
    let before = settings.session_age.map(|age| now.checked_sub(age).unwrap_or(Timestamp::MIN));
    let old = before.map(|before| Old::find(&*desk.archive, before)).transpose()?.unwrap_or_default();
    let counted = desk.archive.sweep(&cleanup, Sweep::Count)?;
    let swept = |dropped| Swept::counted(desk.url.to_owned(), dropped).with_sessions(old.gone(), old.spared());
    if settings.mode == Mode::Show {
        let swept = swept(counted);
        tell(desk.reporting, desk.ui, &swept, format_args!("{swept}\n"))?;
        return Ok(Completion::Full);
    }
    let n_sessions = old.gone().len() as u64;
    let is_asked = (counted.originals > 0 || n_sessions > 0) && settings.consent == Consent::Asked;
    if is_asked && !is_confirmed(&counted, n_sessions, &desk)? {
        desk.ui.status("nothing was dropped");
        return Ok(Completion::Full);
    }
    let size_before = desk.file_bytes();
    if let Some(before) = before.filter(|_| n_sessions > 0) {
        old.drop(&mut *desk.archive, before)?;
    }
    let dropped = desk.archive.sweep(&cleanup, Sweep::Drop)?;
    let swept = Swept::counted(desk.url.to_owned(), dropped).with_sessions(old.gone(), old.spared());
    let swept = swept.done(size_before.zip(desk.file_bytes()));
    tell(desk.reporting, desk.ui, &swept, format_args!("{swept}\n"))?;
    Ok(Completion::Full)
}

fn is_confirmed(counted: &Dropped, n_sessions: u64, desk: &Desk<'_>) -> Result<bool, CommandError> {
    let mut what = Vec::new();
    if n_sessions > 0 {
        what.push(size::counted(n_sessions, "session"));
    }
    if counted.originals > 0 {
        what.push(size::counted(counted.originals, "original"));
    }
    let what = what.join(" and ");
    let of = if counted.originals > 0 {
        format!(" of {}", size::counted(counted.operations, "operation"))
    } else {
        String::new()
    };
    let question = format!("drop {what}{of} from {}? They can never be restored.", desk.url);
    desk.ui.confirm(&question)?.ok_or_else(|| {
        CommandError::usage(anyhow!("--yes is required to drop {what} from {} without a terminal", desk.url))
            .hint("use --dry-run to see what would be dropped")
    })
}

/// Sessions with which nothing was done for long, with all that was made of them.
#[derive(Default)]
struct Old {
    /// They go.
    gone: Vec<Lineage>,
    /// They stay, for this file is there and an operation on it can be undone.
    spared: Vec<(Lineage, PathBuf)>,
}

impl Old {
    /// Those of `archive` with which nothing was done since `before`.
    fn find(archive: &dyn Archive, before: Timestamp) -> Result<Self, VersionError> {
        let mut old = Self::default();
        for lineage in lineages(archive)? {
            if lineage.sessions.is_empty() || lineage.newest().is_none_or(|newest| newest >= before) {
                continue;
            }
            let needed = lineage.paths().find(|path| path.is_file()).map(Path::to_owned);
            match needed.filter(|_| !lineage.operations.is_empty()) {
                Some(path) => old.spared.push((lineage, path)),
                None => old.gone.push(lineage),
            }
        }
        old.gone.sort_by_key(Lineage::newest);
        old.spared.sort_by_key(|(lineage, _)| lineage.newest());
        Ok(old)
    }

    fn gone(&self) -> Vec<(&str, &str)> {
        let sessions = self.gone.iter().flat_map(|lineage| &lineage.sessions);
        sessions.map(|session| (session.id.as_str(), session.title.as_str())).collect()
    }

    fn spared(&self) -> Vec<(&str, &str, &Path)> {
        let sessions = self.spared.iter().flat_map(|(lineage, path)| lineage.sessions.iter().map(move |it| (it, path)));
        sessions.map(|(session, path)| (session.id.as_str(), session.title.as_str(), path.as_path())).collect()
    }

    /// Drops those that go, but for one that somebody has worked on since they were found.
    fn drop(&self, archive: &mut dyn Archive, before: Timestamp) -> Result<(), CommandError> {
        archive.claim()?;
        let now = Self::find(archive, before)?;
        for lineage in now.gone.iter().filter(|lineage| self.gone.contains(lineage)) {
            lineage.drop(archive)?;
        }
        Ok(archive.commit()?)
    }
}
