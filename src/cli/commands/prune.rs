//! `ctxc prune`: cut what is superseded, and what nobody needs any more.

use anyhow::Context;

use crate::cli::error::{CommandError, Completion};
use crate::cli::rewriting::Work;
use crate::cli::settings::{Mode, Rewriting};
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::prune::{PruneReport, Told};
use ctxc_core::apply::{Pruning, Rewrite, ThinkingReach, prune};

/// What to prune.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    pub(crate) pruning: Pruning,
    pub(crate) reach: ThinkingReach,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let rewriting = &settings.rewriting;
    let mut work = Work::open(rewriting, ui)?;
    let report = prune_read(settings, &mut work)?;
    let look = ui.look();
    if rewriting.mode == Mode::Show {
        tell(&rewriting.reporting, ui, &report, format_args!("{}\n", Told::plan(&report, look)))?;
    } else {
        work.say(&report.rewritten, &report, Told::run(&report, look))?;
    }
    Ok(Completion::Full)
}

/// Prunes the session in `work`, and says nothing on standard output.
///
/// # Errors
/// When anything fails; then nothing has changed.
pub(crate) fn prune_read(settings: &Settings, work: &mut Work<'_>) -> Result<PruneReport, CommandError> {
    let Settings { rewriting, pruning, reach } = settings;
    if rewriting.mode == Mode::Do {
        work.probe()?;
    }
    let mut rewrite = Rewrite::default();
    let reading = &work.reading;
    let pruned = prune(reading.transcript(), pruning, &rewriting.shelf, &mut rewrite)
        .with_context(|| format!("read {}", reading.name))?;
    if pruned.keeps_dead {
        work.ui.warning("inactive entries are kept: the newest message is one of them");
    }
    let mut report = PruneReport::new(work.rewritten("prune"), pruned);
    work.finish(rewrite, *reach, report.nothing(), &mut report.rewritten)?;
    Ok(report)
}
