//! `ctxc undo`: the session without its newest operation, or without another.

use super::restore_whole::{self, Later, Which};
use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::Rewriting;
use crate::cli::ui::Ui;

/// What to undo, and where the result goes.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) which: Which,
    pub(crate) later: Later,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let Settings { rewriting, archive, which, later } = settings;
    restore_whole::run("undo", rewriting, archive, which, *later, ui)
}
