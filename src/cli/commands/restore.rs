//! `ctxc restore`: bring back what was removed: all of it, what one operation did, or single items.

use crate::cli::args::{Aim, Matches};
use crate::cli::commands::cutting::Unmatched;
use crate::cli::commands::restore_whole::{Later, Which};
use crate::cli::commands::{restore_items, restore_kept, restore_whole};
use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::Rewriting;
use crate::cli::ui::Ui;
use ctxc_core::plan::Roles;

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// What was removed from a session.
    Session(Settings),
    /// A session whose file is gone.
    Kept(restore_kept::Settings),
}

/// What to restore, from where, and where the result goes.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    pub(crate) what: What,
    pub(crate) roles: Roles,
    pub(crate) matches: Matches,
    pub(crate) unmatched: Unmatched,
    /// The URL of the archive.
    pub(crate) archive: String,
    /// What becomes of operations that stand on what is undone.
    pub(crate) later: Later,
}

/// What to bring back.
#[derive(Debug)]
pub(crate) enum What {
    /// The transcript that ctxc saw first.
    All,
    /// What the operation of this id changed.
    Operation(String),
    /// What these name.
    Items(Vec<Aim>),
}

pub(crate) fn run(asked: &Asked, ui: &Ui) -> Result<Completion, CommandError> {
    let settings = match asked {
        Asked::Session(settings) => settings,
        Asked::Kept(settings) => return restore_kept::run(settings, ui),
    };
    match &settings.what {
        What::All => {
            restore_whole::run("restore", &settings.rewriting, &settings.archive, &Which::All, settings.later, ui)
        }
        What::Operation(id) => {
            let which = Which::One(id.clone());
            restore_whole::run("restore", &settings.rewriting, &settings.archive, &which, settings.later, ui)
        }
        What::Items(aims) => restore_items::run(settings, aims, ui),
    }
}
