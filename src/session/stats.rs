//! Measuring how a session uses its context window.

use super::error::CommandError;
use super::reading::Reading;
use crate::report::stats::Stats;
use crate::session::archives;
use crate::terminal::ui::Ui;
use ctxc_core::plan::Bands;
use ctxc_transcript::scan::Scan;
use ctxc_transcript::text::{Digest, Tokens};
use ctxc_transcript::{LineNo, Usage, read_line};

/// Measures the session that was read. `archive` is the URL of that which knows of figures that ctxc lowered; `window` is
/// the context window that was named or is configured, without which the session tells.
///
/// # Errors
/// When the session cannot be read.
pub(crate) fn measure(
    session: &mut Reading,
    bands: &Bands,
    archive: Option<&str>,
    window: Option<Tokens>,
    ui: &Ui,
) -> Result<Stats, CommandError> {
    let total = session.live_bytes();
    let name = session.name.clone();
    let mut stats =
        session.again(ui, "counting", total, |reader, index, chain| Stats::count(name, reader, index, chain, bands))?;
    stats.session = session.session();
    stats.window = window.unwrap_or(stats.window);
    if let Some(measured) = &mut stats.measured {
        measured.lowered_from = lowered_from(archive, session, LineNo(measured.line.saturating_sub(1)))?;
    }
    Ok(stats)
}

/// What the client had recorded in the usage of `line`, when ctxc has lowered it since (S-06). An archive that cannot be
/// read says nothing, for statistics need none.
fn lowered_from(archive: Option<&str>, session: &Reading, line: LineNo) -> Result<Option<Tokens>, CommandError> {
    let Some(url) = archive else { return Ok(None) };
    let Ok(archive) = archives::open_existing(url) else { return Ok(None) };
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
