//! `ctxc truncate`: drop the oldest messages until the rest fits.

use anyhow::Context;

use crate::cli::error::{CommandError, Completion};
use crate::cli::rewriting::Work;
use crate::cli::settings::{Mode, Rewriting};
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::size::tokens;
use crate::report::truncate::{Plan, TruncateReport};
use ctxc_core::apply::{Rewrite, Thinking, ThinkingReach, truncate};
use ctxc_core::plan::TopDownTruncation;
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{LineSet, Messages};

/// How far to truncate.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    /// What the context shall be below.
    pub(crate) target: Tokens,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let mut work = Work::open(&settings.rewriting, ui)?;
    let calibration = work.estimate();
    let strategy = TopDownTruncation::new(settings.target, calibration);
    let thinking = Thinking { policy: settings.rewriting.thinking, reach: ThinkingReach::BehindChange };
    let mut rewrite = Rewrite::default();
    let reading = &work.reading;
    let truncated = truncate(&reading.file, &reading.index, &reading.chain, &strategy, thinking, &mut rewrite)
        .with_context(|| format!("read {}", reading.name))?;
    let mut report = TruncateReport::new(work.rewritten("truncate"), &strategy, &truncated);
    if strategy.is_over(truncated.truncation.size) && calibration.overhead >= settings.target {
        ui.warning(format_args!(
            "the overhead before the first message is {}: the target cannot be reached",
            tokens(calibration.overhead)
        ));
        ui.hint("--tokens chars4 counts only the messages");
    }
    let unchanged = report.why_unchanged();
    work.finish(rewrite, thinking.reach, &unchanged, &mut report.rewritten)?;
    if settings.rewriting.mode == Mode::Show {
        tell(&settings.rewriting.reporting, ui, &report, Plan(&report))?;
        return Ok(Completion::Full);
    }
    let left = Messages::of(&work.reading.index, &work.reading.chain, &LineSet::default()).len();
    report.messages.after = left + report.rewritten.n_closing;
    work.say(&report.rewritten, &report, &report)?;
    Ok(Completion::Full)
}
