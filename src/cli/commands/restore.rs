//! `ctxc restore`: bring back what was taken out.

use crate::cli::error::{CommandError, Completion};
use crate::cli::input;
use crate::cli::settings::{Output, Reporting};
use crate::cli::ui::Ui;
use crate::transcript::session::Found;

/// What to restore, from where, and where the result goes.
#[derive(Debug)]
#[expect(dead_code, reason = "the body is not built yet")]
pub(crate) struct Settings {
    pub(crate) source: Found,
    pub(crate) output: Output,
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, _ui: &Ui) -> Result<Completion, CommandError> {
    input::open(&settings.source)?;
    Err(anyhow::anyhow!("restore: not built yet").into())
}
