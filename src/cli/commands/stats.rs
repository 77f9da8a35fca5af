//! `ctxc stats`: show what takes the room.

use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::stored;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::stats::{Figures, Stats};
use ctxc_core::plan::Bands;
use ctxc_transcript::scan::Scan;
use ctxc_transcript::session::Found;
use ctxc_transcript::text::{Digest, Tokens};
use ctxc_transcript::{LineNo, Usage, read_line};

/// What to measure.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The bands as they were typed.
    pub(crate) bands: Option<String>,
    /// The URL of the archive, which knows of figures that ctxc lowered.
    pub(crate) archive: Option<String>,
    /// The context window that was named or is configured; without it the session tells.
    pub(crate) window: Option<Tokens>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let bands: Bands = settings.bands.as_deref().unwrap_or_default().parse().map_err(CommandError::usage)?;
    tell::probe(&settings.reporting, &settings.source.path().into_iter().collect::<Vec<_>>())?;
    let stats = measure(settings, &bands, &mut Reading::of(&settings.source, ui)?, ui)?;
    let figures = if ui.is_verbose() { Figures::Both } else { Figures::One };
    tell(&settings.reporting, ui, &stats, stats.text(ui.look(), figures))?;
    Ok(Completion::Full)
}

/// Measures the session that was read.
pub(crate) fn measure(
    settings: &Settings,
    bands: &Bands,
    session: &mut Reading,
    ui: &Ui,
) -> Result<Stats, CommandError> {
    let total = session.live_bytes();
    let name = session.name.clone();
    let mut stats =
        session.again(ui, "counting", total, |reader, index, chain| Stats::count(name, reader, index, chain, bands))?;
    stats.session = session.session();
    stats.window = settings.window.unwrap_or(stats.window);
    if let Some(measured) = &mut stats.measured {
        measured.lowered_from = lowered_from(settings, session, LineNo(measured.line.saturating_sub(1)))?;
    }
    Ok(stats)
}

/// What the client had recorded in the usage of `line`, when ctxc has lowered it since (S-06). An archive that cannot be
/// read says nothing, for statistics need none.
fn lowered_from(settings: &Settings, session: &Reading, line: LineNo) -> Result<Option<Tokens>, CommandError> {
    let Some(url) = &settings.archive else { return Ok(None) };
    let Ok(archive) = stored::open_existing(url) else { return Ok(None) };
    let mut buffer = Vec::new();
    let now = read_line(&session.file, &session.index, line, &mut buffer)?;
    let original = archive
        .replaced_by(Digest::of(now))
        .and_then(|original| original.map_or(Ok(None), |original| archive.line(original.digest)));
    let context = |line: &[u8]| {
        Scan::of(line).message.and_then(|message| message.usage).map(|it| Usage::of(it.of(line)).context())
    };
    let before = original.ok().flatten().as_deref().and_then(context);
    Ok(before.filter(|before| Some(*before) > context(now)).map(Tokens))
}
