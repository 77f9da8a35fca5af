//! `ctxc check`: name every problem that would stop or bend a resume.

use crate::cli::error::{CommandError, Completion};
use crate::cli::input;
use crate::cli::settings::Reporting;
use crate::cli::ui::Ui;
use crate::transcript::session::Found;

/// What to check.
#[derive(Debug)]
#[expect(dead_code, reason = "the body is not built yet")]
pub(crate) struct Settings {
    pub(crate) file: Found,
    /// The transcript that the file was made from.
    pub(crate) against: Option<Found>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, _ui: &Ui) -> Result<Completion, CommandError> {
    input::open(&settings.file)?;
    Err(anyhow::anyhow!("check: not built yet").into())
}
