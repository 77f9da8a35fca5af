//! Repairing: a damaged session is mended until the check finds nothing more that can be (J-03).

use std::collections::{HashMap, HashSet};

use anyhow::anyhow;

use super::compact::draft_edits;
use super::error::CommandError;
use crate::report::repair::{LeftProblem, MendedProblem, RepairedSession};
use crate::session::open::OpenSession;
use crate::session::rewrite::OperationIntent;
use ctxc_core::apply::{
    Mend, PlannedMend, Problem, ProblemKind, ThinkingReach, TranscriptChanges, check_transcript, new_problems,
    plan_mends,
};
use ctxc_core::version::{Edit, LineAddress};
use ctxc_transcript::{Format, LineNo};

/// A session that needs more rounds than this is left with the rest of its problems: each reads it again.
const MOST_ROUNDS: usize = 200;

/// Mends the session of `work`, and writes the result. With `ThinkingReach::Everywhere`, all thinking goes too.
///
/// # Errors
/// When the session is not one of Claude Code, or the result cannot be written.
pub(crate) fn repair_session(
    thinking: ThinkingReach,
    mut work: OpenSession<'_>,
) -> Result<RepairedSession, CommandError> {
    let format = work.reading.index.format;
    if format != Format::Claude {
        return Err(CommandError::from(anyhow!("{} is a session of {}", work.reading.name, format.agent_name()))
            .with_hint(
                "only the damage of Claude Code's sessions is known; `ctxc check` names the problems of others",
            ));
    }
    let origins = LineOrigins::trace_lines(&work);
    work.reading.past.repairs = true;
    let mut tried: HashSet<(ProblemKind, u64, u32)> = HashSet::new();
    let mut mended = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let reading = &work.reading;
        let problems: Vec<Problem> = check_transcript(&reading.index, &reading.chain);
        let (lines, n_stored) = (&reading.past.lines, reading.render_input(None).n_stored());
        let planned = reading.name_errors(plan_mends(reading.transcript(), &problems, lines, n_stored))?;
        let new = |it: &PlannedMend| tried.insert((it.problem.kind, it.problem.subject.0, origins.mend_key(&work, it)));
        let planned: Vec<PlannedMend> = planned.into_iter().filter(new).collect();
        if planned.is_empty() {
            break;
        }
        let edits: Vec<Edit> = planned.iter().flat_map(|it| it.edits.clone()).collect();
        mended.extend(
            planned
                .iter()
                .map(|it| MendedProblem::new(&it.problem, it.mend, origins.source_line(&work, it.problem.line))),
        );
        draft_edits(&mut work, edits, &TranscriptChanges::default())?;
    }
    let mut reach = thinking;
    let mut left = Vec::new();
    let rest = check_transcript(&work.reading.index, &work.reading.chain);
    if let Some(drafted) = &mut work.reading.drafted {
        // Reactivated entries may have problems that were not visible before; these count as problems of the source.
        drafted.before.problems.extend(new_problems(&drafted.before.problems, rest.clone()));
    }
    for problem in rest {
        let line = origins.source_line(&work, problem.line);
        if matches!(problem.kind, ProblemKind::UnsignedThinking | ProblemKind::MisplacedThinking) {
            reach = ThinkingReach::Everywhere;
            mended.push(MendedProblem::new(&problem, Mend::ThinkingRemoved, line));
        } else {
            left.push(LeftProblem::new(&problem, line));
        }
    }
    let intent = OperationIntent::without_calls("repair", "no damage that can be repaired");
    let outcome = work.apply_changes(TranscriptChanges::default(), reach, intent)?;
    Ok(RepairedSession { outcome, mended, left })
}

/// The places of lines in the file that was read.
struct LineOrigins(HashMap<LineAddress, LineNo>);

impl LineOrigins {
    fn trace_lines(work: &OpenSession<'_>) -> Self {
        let reading = &work.reading;
        let lines = reading.index.lines();
        Self(lines.filter_map(|line| Some((reading.past.lines.get(line).0?, line))).collect())
    }

    /// The line of the file that `line` of the draft is, from 1; `None` for one that a mend inserted.
    fn source_line(&self, work: &OpenSession<'_>, line: LineNo) -> Option<u32> {
        let address = work.reading.past.lines.get(line).0?;
        self.0.get(&address).map(|line| line.one_based())
    }

    fn mend_key(&self, work: &OpenSession<'_>, planned: &PlannedMend) -> u32 {
        self.source_line(work, planned.problem.line).unwrap_or_default()
    }
}
