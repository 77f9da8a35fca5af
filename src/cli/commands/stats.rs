//! `ctxc stats`: show what takes the room.

use crate::cli::error::{CommandError, Completion};
use crate::cli::input;
use crate::cli::settings::Reporting;
use crate::cli::ui::Ui;
use crate::transcript::session::Found;

/// What to measure.
#[derive(Debug)]
#[expect(dead_code, reason = "the body is not built yet")]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The bands as they were typed.
    pub(crate) bands: Option<String>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, _ui: &Ui) -> Result<Completion, CommandError> {
    input::open(&settings.source)?;
    Err(anyhow::anyhow!("measure: not built yet").into())
}
