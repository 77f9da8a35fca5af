//! Shortening texts, for `compress` and `run`.

use super::error::CommandError;
use crate::report::calls::ServerCalls;
use crate::session::open::OpenSession;
use crate::session::options::EngineChoice;
use crate::session::run_tasks::{TaskRun, run_tasks};
use ctxc_core::apply::{CompressTasks, TranscriptChanges, add_compress_edits, read_tasks};
use ctxc_core::plan::{CompressSelection, select_candidates};
use ctxc_engine::run::Task;
use ctxc_engine::run::{MinKept, TaskOutcome};
use ctxc_transcript::Turn;
use ctxc_transcript::text::Tokens;

/// The texts that `selection` selects, after `changes`.
pub(crate) fn read_selected_tasks(
    work: &OpenSession<'_>,
    turns: &[Turn],
    selection: &CompressSelection,
    min_tokens: Tokens,
    changes: &TranscriptChanges,
) -> Result<CompressTasks, CommandError> {
    let reading = &work.reading;
    let candidates = select_candidates(&reading.index, &reading.chain, turns, selection);
    reading.name_errors(read_tasks(&reading.file, &reading.index, &candidates, min_tokens, changes))
}

/// The results of tasks.
pub(crate) struct ShortenedTasks {
    /// One for each task, in order.
    pub(crate) outcomes: Vec<TaskOutcome>,
    /// The requests to the server; `None` without one.
    pub(crate) calls: Option<ServerCalls>,
}

/// Runs `tasks` through the engine, rejects results that keep too few facts, and adds the others to `changes`.
pub(crate) fn shorten_tasks(
    work: &OpenSession<'_>,
    tasks: &[Task],
    engine: &EngineChoice,
    min_kept: Option<MinKept>,
    changes: &mut TranscriptChanges,
) -> Result<ShortenedTasks, CommandError> {
    let reading = &work.reading;
    let TaskRun { ran, calls } = run_tasks(tasks, engine, work)?;
    let outcomes = tasks.iter().zip(ran.outcomes).map(|(task, outcome)| match min_kept {
        Some(min_kept) => min_kept.check_outcome(task, outcome),
        None => outcome,
    });
    let outcomes: Vec<TaskOutcome> = outcomes.collect();
    reading.name_errors(add_compress_edits(&reading.file, &reading.index, tasks, &outcomes, changes))?;
    Ok(ShortenedTasks { outcomes, calls })
}
