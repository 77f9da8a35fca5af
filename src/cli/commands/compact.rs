//! `ctxc compact`: put summaries in the place of the oldest messages.

use crate::cli::compacting::compact_conversation;
use crate::cli::error::{CommandError, Completion};
use crate::cli::rewriting::Work;
use crate::cli::settings::{Compacting, EngineChoice, Mode, Rewriting, Trigger};
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::compact::{CompactReport, Plan};
use ctxc_core::apply::{Rewrite, ThinkingReach};

/// When to compact, and into what.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    pub(crate) compacting: Compacting,
    pub(crate) trigger: Trigger,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let (work, report) = compact(settings, ui)?;
    if settings.rewriting.mode == Mode::Show {
        tell(&settings.rewriting.reporting, ui, &report, Plan(&report))?;
    } else {
        work.say(&report.rewritten, &report, &report)?;
    }
    Ok(Completion::Full)
}

/// Does all of it, and says nothing on standard output.
///
/// # Errors
/// When anything fails; then nothing has changed, and nothing is kept.
pub(crate) fn compact<'a>(settings: &'a Settings, ui: &'a Ui) -> Result<(Work<'a>, CompactReport), CommandError> {
    compact_read(settings, Work::open(&settings.rewriting, ui)?)
}

/// As [`compact`], of the session in `work`.
///
/// # Errors
/// As [`compact`].
pub(crate) fn compact_read<'a>(
    settings: &Settings,
    mut work: Work<'a>,
) -> Result<(Work<'a>, CompactReport), CommandError> {
    let Settings { rewriting, compacting, trigger } = settings;
    let summaries = compacting.in_window(work.calibration.window);
    if rewriting.mode == Mode::Do {
        work.probe()?;
    }
    let rewritten = work.rewritten("compact");
    let rewrite = Rewrite::default();
    let size = work.size(&rewrite, ThinkingReach::BehindChange)?;
    if matches!(summaries.summarizing.engine, EngineChoice::Extract) && summaries.is_called_for(size, *trigger) {
        work.ui.status("engine    extract (built in, offline)");
    }
    let (rewrite, compacted) = compact_conversation(&mut work, &summaries, *trigger, size, rewrite)?;
    let mut report = CompactReport { rewritten, compacted };
    let unchanged = report.compacted.why_unchanged();
    report.rewritten.note_calls(report.compacted.calls.as_ref());
    work.finish(rewrite, ThinkingReach::BehindChange, &unchanged, &mut report.rewritten)?;
    if report.compacted.reason.is_none() {
        let after = report.rewritten.tokens.chars4.after.context();
        report.compacted.tokens_after = work.estimate().context(after);
    }
    Ok((work, report))
}
