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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Scripted;
    use crate::plan::{Level, TaskPart};
    use crate::run::Kept;
    use crate::text::{Tokens, chars4};
    use crate::transcript::{LineNo, TurnIdx};

    fn tasks(n_tasks: u32) -> Vec<Task> {
        let text = "The lock is taken per shard. It is never taken over the whole store.".to_owned();
        let task = |line| Task {
            line: LineNo(line),
            part: TaskPart::Text,
            turn: TurnIdx(0),
            level: Level::Heavy,
            tokens: chars4(&text),
            text: text.clone(),
            target: Tokens(15),
        };
        (0..n_tasks).map(task).collect()
    }

    // B-08
    #[test]
    fn a_task_that_fails_does_not_stop_the_others() {
        let engine = Scripted::new([
            Ok("A lock per shard."),
            Err("the server said 500"),
            Ok("  "),
            Ok("API Error: overloaded"),
            Ok("The lock is taken per shard. It is never, never taken over the whole of the store."),
            Ok("Per shard."),
        ]);
        let mut n_told = 0;
        let outcomes = run(&tasks(7), &engine, |_| {
            n_told += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(
            outcomes,
            [
                Outcome::Compressed { text: "A lock per shard.".to_owned(), tokens: Tokens(5) },
                Outcome::Failed("the server said 500".to_owned()),
                Outcome::Kept(Kept::Blank),
                Outcome::Kept(Kept::ErrorText),
                Outcome::Kept(Kept::NotShorter),
                Outcome::Compressed { text: "Per shard.".to_owned(), tokens: Tokens(3) },
                Outcome::Failed("the script has ended".to_owned()),
            ]
        );
        assert_eq!((n_told, engine.n_left()), (7, 0));
    }

    #[test]
    fn a_run_that_is_broken_off_asks_for_nothing_more() {
        let engine = Scripted::new([Ok("One."), Ok("Two."), Ok("Three.")]);
        let mut n_told = 0;
        let outcomes = run(&tasks(3), &engine, |_| {
            n_told += 1;
            if n_told == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((outcomes.len(), engine.n_left()), (2, 1));
    }
}
