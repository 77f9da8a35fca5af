//! Shortening texts, as `compress` and `run` do it.

use std::ops::ControlFlow;

use anyhow::Context;

use super::error::CommandError;
use super::progress::Progress;
use super::rewriting::Work;
use super::ui::Ui;
use crate::apply::{Rewrite, Tasks, add_edits, read_tasks};
use crate::engine::Engine;
use crate::plan::{Selection, Task, candidates};
use crate::run::{Event, Outcome, run as run_tasks};
use crate::text::{Stopped, Tokens};
use crate::transcript::Turn;

/// The texts that `selection` wants, of what `rewrite` has left.
pub(super) fn tasks(
    work: &Work<'_>,
    turns: &[Turn],
    selection: &Selection,
    min_tokens: Tokens,
    rewrite: &Rewrite,
) -> Result<Tasks, CommandError> {
    let reading = &work.reading;
    let candidates = candidates(&reading.index, &reading.chain, turns, selection);
    Ok(read_tasks(&reading.file, &reading.index, &candidates, min_tokens, rewrite)
        .with_context(|| format!("read {}", reading.name))?)
}

/// Runs `tasks` through `engine`, and adds to `rewrite` what came of them.
pub(super) fn shorten(
    work: &Work<'_>,
    tasks: &[Task],
    engine: &dyn Engine,
    rewrite: &mut Rewrite,
) -> Result<Vec<Outcome>, CommandError> {
    let reading = &work.reading;
    let outcomes = run_with_progress(tasks, engine, work.ui)?;
    add_edits(&reading.file, &reading.index, tasks, &outcomes, rewrite)
        .with_context(|| format!("read {}", reading.name))?;
    Ok(outcomes)
}

fn run_with_progress(tasks: &[Task], engine: &dyn Engine, ui: &Ui) -> Result<Vec<Outcome>, CommandError> {
    let mut progress = Progress::start(ui, "compressing", tasks.iter().map(|task| task.tokens.0).sum());
    let mut flow = Ok(());
    let outcomes = run_tasks(tasks, engine, |Event::Finished { task, .. }| {
        progress.advance(task.tokens.0);
        flow = Stopped::check(ui.stop());
        if flow.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    flow?;
    Ok(outcomes)
}
