//! `ctxc stats`: show what takes the room.

use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::plan::Bands;
use crate::report::stats::Stats;
use crate::transcript::session::Found;

/// What to measure.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The bands as they were typed.
    pub(crate) bands: Option<String>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let bands: Bands = settings.bands.as_deref().unwrap_or_default().parse().map_err(CommandError::usage)?;
    let mut session = Reading::of(&settings.source, ui)?;
    let total = session.live_bytes();
    let name = session.name.clone();
    let stats = session
        .again(ui, "counting", total, |reader, index, chain| Stats::count(name, reader, index, chain, &bands))?;
    tell(&settings.reporting, ui, &stats, stats.text(ui.look()))?;
    Ok(Completion::Full)
}
