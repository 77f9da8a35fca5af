//! Shrinking a session to a target by removing no more than necessary (W-02).

use super::checkpoint::Checkpoint;
use super::error::{CommandError, too_low};
use super::pipeline::{Pipeline, Sizes};
use crate::report::fit::FitReport;
use crate::report::run::StageRow;
use crate::report::size::{count, short};
use crate::session::fit_plan::{CLOSING, Figures, Plan, summaries};
use crate::session::open::OpenSession;
use crate::session::options::{EngineChoice, Mode, Summaries, Target};
use crate::session::rewrite::Intent;
use ctxc_core::apply::{Rewrite, ThinkingReach};
use ctxc_core::plan::{PruneStage, Stage, TruncateStage};
use ctxc_transcript::text::Tokens;

/// The maximum number of plans; each is corrected by the measured size of the one before.
const MOST_PLANS: u32 = 4;

#[derive(Debug)]
pub(crate) struct FitRequest {
    pub(crate) target: Target,
    pub(crate) effort: Effort,
    /// The content that is never removed.
    pub(crate) protections: PruneStage,
    /// The numbers of earliest and of latest summaries that a view shows.
    pub(crate) clip: (u32, u32),
}

/// The handling of a target that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// It is refused.
    Exact,
    /// The oldest messages are removed: `--truncate`.
    Truncate,
    /// The context gets as small as possible: `--best-effort`.
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
    let target = request.target.of(work.calibration.window);
    let before = work.size_of_stages(&Rewrite::default());
    let is_empty = work.reading.chain.lines.is_empty();
    let is_small = before <= target || is_empty;
    let fitted = if is_small { Fitted::nothing(before) } else { Fit::new(work, request, target, before)?.run()? };
    let Fitted { rows, newest, rewrite, reach, size } = fitted;
    let unchanged = match (is_empty, is_small) {
        (true, _) => "the session has no messages".to_owned(),
        (false, true) => format!("the context is {} tokens, the target is {}", count(before.0), count(target.0)),
        (false, false) => format!("the context is {} tokens, and nothing makes it smaller", count(before.0)),
    };
    let outcome = work.finish(rewrite, reach, Intent::offline("fit", &unchanged))?;
    if is_small && !is_empty {
        work.ui
            .hint(format_args!("for a smaller one, name a lower target, such as --to {}", short(Tokens(before.0 / 2))));
    }
    let size = if rows.is_empty() { size } else { work.size_after(&outcome) };
    Ok(FitReport::new(outcome, target, rows, size, newest))
}

/// The operation that reached the target.
struct Fitted {
    rows: Vec<StageRow>,
    /// The size of the newest message that is compacted.
    newest: Option<Tokens>,
    rewrite: Rewrite,
    reach: ThinkingReach,
    size: Tokens,
}

impl Fitted {
    /// A context of `size` that is left unchanged.
    fn nothing(size: Tokens) -> Self {
        let (rewrite, reach) = (Rewrite::default(), ThinkingReach::BehindChange);
        Self { rows: Vec::new(), newest: None, rewrite, reach, size }
    }
}

/// A session on which plans are tried until one brings its context to the target.
///
/// The lowest size is measured on an actual result, so every size that an error suggests can be reached.
struct Fit<'a, 'w> {
    work: &'a mut OpenSession<'w>,
    request: &'a FitRequest,
    figures: Figures,
    how: Summaries,
    start: Checkpoint,
    /// Plans for the lowest size, made when they are first needed.
    floors: Vec<Plan>,
    target: Tokens,
    before: Tokens,
}

impl<'a, 'w> Fit<'a, 'w> {
    fn new(
        work: &'a mut OpenSession<'w>,
        request: &'a FitRequest,
        target: Tokens,
        before: Tokens,
    ) -> Result<Self, CommandError> {
        let OpenSession { reading, settings, .. } = &*work;
        let figures = Figures::of(reading, &settings.archive_ref, settings.thinking, &request.protections)?;
        let how = summaries(request.clip.0, request.clip.1);
        let start = Checkpoint::of(reading)?;
        Ok(Self { work, request, figures, how, start, floors: Vec::new(), target, before })
    }

    fn run(mut self) -> Result<Fitted, CommandError> {
        if self.is_about(self.target, self.figures.left_by_removing()) {
            self.find_floors()?;
        }
        // Carrying out the lowest plan takes as long as everything else.
        if !self.may_be_too_low(self.target)
            && let Some(fitted) = self.planned(Tokens::ZERO)?
            && !self.may_be_too_low(fitted.size)
        {
            return Ok(fitted);
        }
        let lowest = self.lowest()?;
        if lowest.size >= self.target {
            return self.settle(lowest);
        }
        match self.planned(lowest.size)? {
            Some(fitted) => Ok(fitted),
            None => self.lowest(),
        }
    }

    /// Whether the lowest size may be above `size`; `false` if floors were not needed.
    fn may_be_too_low(&self, size: Tokens) -> bool {
        self.floors.first().is_some_and(|plan| self.is_about(size, plan.left))
    }

    /// Whether `size` is below or about that of a session with `left` tokens of content.
    fn is_about(&self, size: Tokens, left: u64) -> bool {
        size <= self.work.estimate().context_size(Tokens(left + left / 16 + CLOSING))
    }

    fn find_floors(&mut self) -> Result<(), CommandError> {
        if self.floors.is_empty() {
            self.start.restore(&mut self.work.reading)?;
            self.floors = self.figures.floors(self.work, &self.how)?;
        }
        Ok(())
    }

    /// The first plan, carried out, that brings the context between `floor` and the target.
    fn planned(&mut self, floor: Tokens) -> Result<Option<Fitted>, CommandError> {
        let mut correction = 0;
        for _ in 0..MOST_PLANS {
            self.start.restore(&mut self.work.reading)?;
            let Some(plan) = self.figures.plan(self.work, self.target, correction, &self.how)? else { break };
            let fitted = self.carry_out(&plan)?;
            if fitted.size < floor {
                break;
            }
            if fitted.size <= self.target {
                return Ok(Some(fitted));
            }
            // The error of the plan, so that the next one differs.
            let estimate = self.work.estimate();
            let left = estimate.scale_to_chars4(fitted.size.saturating_sub(estimate.overhead)).0 + 1;
            correction = left.saturating_sub(plan.left).max(correction + 1);
        }
        Ok(None)
    }

    /// The lowest reachable result; unchanged if no plan makes the context smaller.
    fn lowest(&mut self) -> Result<Fitted, CommandError> {
        self.find_floors()?;
        for plan in self.floors.clone() {
            self.start.restore(&mut self.work.reading)?;
            let fitted = self.carry_out(&plan)?;
            if fitted.size < self.before {
                return Ok(fitted);
            }
        }
        self.start.restore(&mut self.work.reading)?;
        Ok(Fitted::nothing(self.before))
    }

    /// Accepts, truncates or refuses, given the `lowest` result, which was carried out.
    fn settle(&mut self, lowest: Fitted) -> Result<Fitted, CommandError> {
        if lowest.size <= self.target {
            return Ok(lowest);
        }
        match self.request.effort {
            Effort::Best => Ok(lowest),
            Effort::Exact if lowest.size == self.before => {
                let other = "nothing makes the context smaller; use --truncate to remove the oldest messages";
                Err(too_low(self.target, lowest.size).hint(other))
            }
            Effort::Exact => {
                let other = "--best-effort, or --truncate to also remove the oldest messages";
                Err(too_low(self.target, lowest.size).hint(format!("use --to {}, {other}", lowest.size.0)))
            }
            Effort::Truncate => self.truncated(lowest.size),
        }
    }

    /// The session with as many of its newest messages as fit the target. `lowest` is reachable without truncating.
    fn truncated(&mut self, lowest: Tokens) -> Result<Fitted, CommandError> {
        let fitted = self.truncated_to(self.target)?;
        if fitted.size <= self.target {
            return Ok(fitted);
        }
        // Only a trial shows at which message a conversation can begin.
        let (mut below, mut reached) = (self.target.0, lowest.0);
        while below + 1 < reached {
            let target = Tokens(u64::midpoint(below, reached));
            *(if self.truncated_to(target)?.size <= target { &mut reached } else { &mut below }) = target.0;
        }
        Err(too_low(self.target, Tokens(reached)).hint(format!("use --to {reached} --truncate")))
    }

    fn truncated_to(&mut self, Tokens(target): Tokens) -> Result<Fitted, CommandError> {
        self.start.restore(&mut self.work.reading)?;
        // A truncation ends below its target, and refuses targets below the content before the first message.
        let target_tokens = target.max(self.work.estimate().overhead.0) + 1;
        let truncate = TruncateStage { name: "truncate".to_owned(), target_tokens };
        let stages = vec![self.figures.all_removed(), Stage::Truncate(truncate)];
        self.carry_out(&Plan { stages, newest: None, left: 0 })
    }

    fn carry_out(&mut self, plan: &Plan) -> Result<Fitted, CommandError> {
        let sizes = Sizes::WithWhatFollows;
        let mut pipeline = Pipeline::new(self.work, &EngineChoice::Extract, Some(&self.how), sizes)?;
        let rows = plan.stages.iter().map(|stage| pipeline.take(stage)).collect::<Result<_, _>>()?;
        let Pipeline { rewrite, reach, size, .. } = pipeline;
        Ok(Fitted { rows, newest: plan.newest, rewrite, reach, size })
    }
}
