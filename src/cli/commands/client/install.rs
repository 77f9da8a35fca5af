//! `ctxc client install` and `uninstall`: the plugin and the status line.

use super::place::Place;
use super::process::program;
use crate::cli::client::{
    LineOwner, Settings, Touched, WriteMode, add_status_line, line_owner, remove, remove_status_line, write,
};
use crate::cli::context::Context;
use crate::report::client::{FileRow, Installed};
use crate::session::error::{CommandError, Completion};

pub(super) fn install(place: &Place, mode: WriteMode, context: &Context<'_>) -> Result<(), CommandError> {
    let program = program()?;
    // Read before anything is written, so that settings that cannot be edited prevent a partial installation.
    let settings = Settings::read(&place.client_settings)?;
    let mut touched = write(&place.folder, &program, mode)?;
    touched.push(add_status_line(&settings, &program, mode)?);
    let other_status_line = match line_owner(&settings) {
        LineOwner::Other(command) => Some(command),
        LineOwner::Ctxc | LineOwner::Nobody => None,
    };
    let kept_in = place.kept_in.clone();
    let report = Installed {
        action: "install",
        dry_run: mode == WriteMode::Preview,
        files: rows(touched),
        other_status_line,
        left: None,
        kept_in,
    };
    context.print(&report, format_args!("{report}\n"))?;
    if let Some(reason) = settings.skipped() {
        context.ui.warning(format_args!("{reason}"));
        context.ui.hint("remove them, else the client shows no status line");
    }
    Ok(())
}

/// Removes everything it can: unreadable settings do not keep the plugin from being removed.
pub(super) fn uninstall(place: &Place, mode: WriteMode, context: &Context<'_>) -> Result<Completion, CommandError> {
    let mut touched = remove(&place.folder, mode)?;
    touched.extend(remove(&place.data, mode)?);
    let line = remove_status_line(&place.client_settings, mode);
    let left = line.as_ref().err().map(CommandError::sentence);
    touched.extend(line.as_ref().ok().and_then(Clone::clone));
    let report = Installed {
        action: "uninstall",
        dry_run: mode == WriteMode::Preview,
        files: rows(touched),
        other_status_line: None,
        left,
        kept_in: None,
    };
    context.print(&report, format_args!("{report}\n"))?;
    let Err(error) = line else { return Ok(Completion::Full) };
    context.ui.warning(format_args!("the status line was not removed: {}", error.sentence()));
    for hint in error.hints() {
        context.ui.hint(hint);
    }
    context.ui.hint("run `ctxc client uninstall` again afterwards");
    Ok(Completion::Partial)
}

fn rows(touched: Vec<Touched>) -> Vec<FileRow> {
    touched
        .into_iter()
        .map(|Touched { path, fate }| FileRow { path, fate: format!("{fate:?}").to_lowercase() })
        .collect()
}
