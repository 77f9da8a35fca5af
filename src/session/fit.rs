//! Shrinking a session to a target, by no more than that takes (W-02).

use anyhow::anyhow;

use super::error::{CommandError, too_low};
use super::pipeline::{Pipeline, Sizes};
use crate::report::fit::FitReport;
use crate::report::run::StageRow;
use crate::report::size::count;
use crate::session::fit_plan::{Figures, Fitting, summaries};
use crate::session::open::OpenSession;
use crate::session::options::{EngineChoice, Mode, Summaries, Target};
use ctxc_core::apply::{Rewrite, ThinkingReach};
use ctxc_core::plan::{PruneStage, Stage, TruncateStage};
use ctxc_transcript::text::Tokens;

/// How often a plan is corrected by what the edits turned out to come to.
const MOST_PLANS: u32 = 4;

/// What to fit a session to.
#[derive(Debug)]
pub(crate) struct FitRequest {
    pub(crate) target: Target,
    pub(crate) effort: Effort,
    /// What is never removed.
    pub(crate) protections: PruneStage,
    /// How many of the earliest and of the latest summaries a view shows.
    pub(crate) clip: (u32, u32),
}

/// What is done about a target that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// It is refused.
    Exact,
    /// The oldest messages go: `--truncate`.
    Truncate,
    /// The context comes as low as it can: `--best-effort`.
    Best,
}

/// Fits the session in `work`.
///
/// # Errors
/// When the target cannot be reached, or anything fails; then nothing has changed.
pub(crate) fn fit(request: &FitRequest, work: &mut OpenSession<'_>) -> Result<FitReport, CommandError> {
    if work.settings.mode == Mode::Do {
        work.probe()?;
    }
    let rewritten = work.rewritten("fit");
    let target = request.target.of(work.calibration.window);
    let before = work.size_of_stages(&Rewrite::default());
    let fitted = if before <= target || work.reading.chain.lines.is_empty() {
        let (rewrite, reach) = (Rewrite::default(), ThinkingReach::BehindChange);
        Fitted { rows: Vec::new(), newest: None, rewrite, reach, size: before }
    } else {
        fitted(work, request, target)?
    };
    let Fitted { rows, newest, rewrite, reach, size } = fitted;
    let is_nothing = rows.is_empty();
    let mut report = FitReport::new(rewritten, target, rows);
    let unchanged = match (work.reading.chain.lines.is_empty(), is_nothing) {
        (true, _) => "the session has no messages".to_owned(),
        (false, true) => format!("the context is {} tokens, the target is {}", count(before.0), count(target.0)),
        (false, false) => "nothing can be removed".to_owned(),
    };
    work.finish(rewrite, reach, &unchanged, &mut report.rewritten)?;
    report.set_size(if is_nothing { size } else { work.size_after(&report.rewritten) }, newest);
    Ok(report)
}

/// What was done to reach the target.
struct Fitted {
    rows: Vec<StageRow>,
    /// The size of the newest message that is compacted.
    newest: Option<Tokens>,
    rewrite: Rewrite,
    reach: ThinkingReach,
    size: Tokens,
}

/// Plans the stages, and carries them out.
fn fitted(work: &mut OpenSession<'_>, request: &FitRequest, target: Tokens) -> Result<Fitted, CommandError> {
    let figures = Figures::of(&work.reading, &work.settings.archive_ref, work.settings.thinking, &request.protections)?;
    let how = summaries(request.clip.0, request.clip.1);
    let mut correction = 0;
    let mut target = target;
    for _ in 1..MOST_PLANS {
        let (stages, newest, planned) = match figures.plan(work, target, correction, &how)? {
            Fitting::Removing(stage, left) => (vec![stage], None, left),
            Fitting::Compacting(stages, newest) => (stages, Some(newest), 0),
            Fitting::TooLow(lowest) => match request.effort {
                Effort::Exact => {
                    let other = "--best-effort, or --truncate to also remove the oldest messages";
                    return Err(too_low(target, lowest).hint(format!("use --to {}, {other}", lowest.0)));
                }
                Effort::Truncate => {
                    let target_tokens = target.0;
                    let truncate = TruncateStage { name: "truncate".to_owned(), target_tokens };
                    (vec![figures.all_removed(), Stage::Truncate(truncate)], None, 0)
                }
                Effort::Best => {
                    target = lowest;
                    correction = 0;
                    continue;
                }
            },
        };
        let fitted = Fitted { newest, ..carry_out(work, &stages, &how)? };
        let is_final = stages.iter().any(|stage| !matches!(stage, Stage::Prune(_)));
        if fitted.size <= target || is_final {
            return Ok(fitted);
        }
        // By how much the plan was wrong, so that the same choice does not come again.
        let estimate = work.estimate();
        let left = estimate.unscale(fitted.size.saturating_sub(estimate.overhead)).0 + 1;
        correction = left.saturating_sub(planned).max(correction + 1);
    }
    Err(anyhow!("the context cannot be brought to {} tokens", count(target.0)).into())
}

fn carry_out(work: &mut OpenSession<'_>, stages: &[Stage], how: &Summaries) -> Result<Fitted, CommandError> {
    let mut pipeline = Pipeline::new(work, &EngineChoice::Extract, Some(how), Sizes::WithWhatFollows)?;
    let rows = stages.iter().map(|stage| pipeline.take(stage)).collect::<Result<_, _>>()?;
    let Pipeline { rewrite, reach, size, .. } = pipeline;
    Ok(Fitted { rows, newest: None, rewrite, reach, size })
}
