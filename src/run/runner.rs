//! Runs tasks through an engine, in their order.

use std::ops::ControlFlow;

use super::Outcome;
use crate::engine::{Engine, Job};
use crate::plan::Task;

/// What the runner tells while it works.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A task is done.
    Finished {
        /// The task.
        task: &'a Task,
        /// What came of it.
        outcome: &'a Outcome,
    },
}

/// Runs `tasks` through `engine` and returns what came of each, in their order. A task that fails does not stop the
/// others (B-08). When `tell` breaks off, so does the run, and the rest have no outcome.
pub fn run(tasks: &[Task], engine: &dyn Engine, mut tell: impl FnMut(Event<'_>) -> ControlFlow<()>) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(tasks.len());
    for task in tasks {
        let outcome = match engine.shrink(&Job { text: &task.text, target: task.target }) {
            Ok(reply) => Outcome::of_reply(task, reply.text),
            Err(error) => Outcome::Failed(error.to_string()),
        };
        let flow = tell(Event::Finished { task, outcome: &outcome });
        outcomes.push(outcome);
        if flow.is_break() {
            break;
        }
    }
    outcomes
}
