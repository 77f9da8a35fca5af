//! `ctxc truncate`: drop the oldest messages until the rest fits.

use anyhow::Context;

use crate::cli::error::{CommandError, Completion, too_low};
use crate::cli::rewriting::Work;
use crate::cli::settings::{Mode, Rewriting, Target};
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::truncate::{Plan, TruncateReport};
use ctxc_core::apply::{Rewrite, Thinking, ThinkingReach, truncate};
use ctxc_core::plan::TopDownTruncation;
use ctxc_transcript::{LineSet, Messages};

/// How far to truncate.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    /// What the context shall be below.
    pub(crate) target: Target,
    pub(crate) effort: Effort,
}

/// What is done about a target that the system prompt and the tools alone pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// It is refused.
    Exact,
    /// The context comes as low as it can: `--best-effort`.
    Best,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let mut work = Work::open(&settings.rewriting, ui)?;
    let calibration = work.estimate();
    let target = settings.target.of(work.calibration.window);
    let strategy = TopDownTruncation::new(target, calibration);
    let thinking = Thinking { policy: settings.rewriting.thinking, reach: ThinkingReach::BehindChange };
    let mut rewrite = Rewrite::default();
    let reading = &work.reading;
    let truncated = truncate(reading.transcript(), &strategy, thinking, &mut rewrite)
        .with_context(|| format!("read {}", reading.name))?;
    let lowest = truncated.truncation.size;
    if settings.effort == Effort::Exact && strategy.is_out_of_reach(lowest) {
        let hint = format!("use --target-tokens {}, or --best-effort to go as low as possible", lowest.0 + 1);
        return Err(too_low(target, lowest).hint(hint));
    }
    let mut report = TruncateReport::new(work.rewritten("truncate"), &strategy, &truncated);
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
