//! `ctxc archive gc`: drop what has served its time, and give its space back.

use anyhow::anyhow;
use jiff::Timestamp;

use super::run::Desk;
use crate::archive::{Cleanup, Dropped, Sweep};
use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::Mode;
use crate::cli::tell::tell;
use crate::report::archive::Swept;
use crate::report::size;

/// What may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Originals of operations of more than so many days too.
    pub(crate) original_days: Option<u32>,
    pub(crate) mode: Mode,
    pub(crate) consent: Consent,
}

/// Whether somebody is asked before originals go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Somebody is.
    Asked,
    /// It was given with the command: `--yes`.
    Given,
}

pub(super) fn run(settings: Settings, mut desk: Desk<'_>) -> Result<Completion, CommandError> {
    let cleanup = Cleanup::at(Timestamp::now(), settings.original_days);
    let counted = desk.archive.sweep(&cleanup, Sweep::Count)?;
    let swept = Swept::counted(desk.url.to_owned(), counted);
    if settings.mode == Mode::Show {
        tell(desk.reporting, desk.ui, &swept, format_args!("{swept}\n"))?;
        return Ok(Completion::Full);
    }
    if counted.originals > 0 && settings.consent == Consent::Asked && !is_confirmed(&counted, &desk)? {
        desk.ui.status("nothing was dropped");
        return Ok(Completion::Full);
    }
    let before = desk.file_bytes();
    let dropped = desk.archive.sweep(&cleanup, Sweep::Drop)?;
    let swept = Swept::counted(desk.url.to_owned(), dropped).done(before.zip(desk.file_bytes()));
    tell(desk.reporting, desk.ui, &swept, format_args!("{swept}\n"))?;
    Ok(Completion::Full)
}

fn is_confirmed(counted: &Dropped, desk: &Desk<'_>) -> Result<bool, CommandError> {
    let originals = size::counted(counted.originals, "original");
    let operations = size::counted(counted.operations, "operation");
    let question =
        format!("drop {originals} of {operations} from {}, which can never be restored afterwards?", desk.url);
    desk.ui.confirm(&question)?.ok_or_else(|| {
        CommandError::usage(anyhow!("drop {originals} from {}: nobody can be asked", desk.url))
            .hint("run it on a terminal, or give --yes; --dry-run shows what would go")
    })
}
