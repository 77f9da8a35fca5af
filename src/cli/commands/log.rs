//! `ctxc log`: tell how a session came to be what it is.

use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::stored;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::archive::Log;
use ctxc_core::version::Version;
use ctxc_transcript::session::Found;
use ctxc_transcript::text::Digest;

/// Whose lineage, and which archive knows it.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &settings.source.path().into_iter().collect::<Vec<_>>())?;
    let mut reading = Reading::of(&settings.source, ui)?;
    let mut archive = stored::open_existing(&settings.archive)?;
    reading.recognise_or_adopt(&mut *archive)?;
    let mut lineage = Vec::new();
    for operation in reading.past.history.operations().iter().rev() {
        lineage.extend(archive.operation(&operation.operation)?);
    }
    let version = reading.past.known.as_ref().and_then(|known| known.version.as_ref());
    let now = version.filter(|_| reading.n_new() == 0).map_or_else(|| Digest::of(b""), Version::key);
    let log = Log::new(reading.session(), now, &lineage, &reading.past.history);
    tell(&settings.reporting, ui, &log, log.text(ui.look()))?;
    if lineage.is_empty() {
        ui.status(format_args!("ctxc has not changed {}", log.read.label()));
    }
    Ok(Completion::Full)
}
