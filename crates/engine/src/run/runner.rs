//! Runs tasks through an engine: what is there already is taken, the rest is asked for, and each reply is judged.

use std::cell::Cell;
use std::ops::ControlFlow;

use futures::FutureExt;

use super::cache::Cache;
use super::likeness::unlike;
use super::question::{Question, Questions};
use super::spent::Spent;
use super::terms::{End, Terms};
use super::window::{Item, Step, window};
use super::{Author, Kept, Outcome};
use crate::redact::{Placeholder, Redacted};
use crate::run::Task;
use crate::{Ask, Engine, EngineError, Extract, Fault, Job, Origin, Reply, Replying};
use ctxc_store::ArchiveError;
use ctxc_transcript::text::chars4;

/// Events of the runner.
#[derive(Debug)]
pub enum Event<'a> {
    /// A task is done.
    Finished {
        /// The task.
        task: &'a Task,
        /// The outcome.
        outcome: &'a Outcome,
        /// What that took; nothing for what was there already.
        spent: Spent,
    },
    /// A call failed for this reason, and is made again.
    Again(&'a EngineError),
    /// Nothing has happened for a moment.
    Waiting,
    /// A result could not be kept: should the run be broken off, it is asked for again.
    NotCached(&'a ArchiveError),
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What came of each task, in their order.
    pub outcomes: Vec<Outcome>,
    /// What each task took, in their order. Of equal tasks the first bears it.
    pub spent: Vec<Spent>,
    /// For each task the placeholders of secrets that its reply has lost.
    pub lost: Vec<Vec<Placeholder>>,
    /// How the run ended.
    pub end: End,
    /// Why the last of those that have no reply has none.
    pub last_error: Option<EngineError>,
}

/// Runs `tasks` by their `questions` through `engine` and returns what came of each, in their order, whatever the order
/// in which replies come. A task that fails does not stop the others (B-08). When `tell` breaks off, so does the
/// run, calls under way are cancelled, and the rest is kept as it was. What a reply says is noted in `cache` as soon as
/// it is there.
pub async fn run(
    tasks: &[Task],
    questions: &Questions,
    engine: &dyn Engine,
    terms: &Terms,
    cache: Option<&mut Cache<'_>>,
    tell: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Ran {
    let mut run = Run::new(tasks, questions, cache, tell);
    if run.take_cached().is_break() {
        return run.ended(End::Interrupted);
    }
    let open: Vec<(usize, &Question)> =
        questions.all.iter().enumerate().filter(|(_, question)| question.cached.is_none()).collect();
    let items: Vec<Item> = open
        .iter()
        .map(|(_, question)| Item { tokens: chars4(question.text()), most: question.most, price: question.price })
        .collect();
    let first_tasks: Vec<Option<&Task>> = run.tasks_of.iter().map(|of| tasks.get(*of.first()?)).collect();
    // Why the reply to an item was refused, where it is asked for once more (K-06).
    let refused: Vec<Cell<Option<Kept>>> = vec![Cell::default(); open.len()];
    let refused = &refused;
    let ask = |item: usize, attempt: u32| -> Replying<'_> {
        let place = open.get(item).zip(refused.get(item));
        let Some(((at, question), refused)) = place else {
            return Box::pin(std::future::ready(Err(EngineError::new(Fault::Permanent, "there is no such question"))));
        };
        let replying = engine.shrink(question.ask(attempt, refused.get()));
        let task = first_tasks.get(*at).copied().flatten();
        Box::pin(async move {
            let result = replying.await;
            let Some(reason) = task.and_then(|task| poor_reason(task, question, &result)) else { return result };
            match (refused.replace(Some(reason)), result) {
                (None, Ok(Reply { usage, .. })) => {
                    Err(EngineError { usage, ..EngineError::new(Fault::Poor(reason), reason.to_string()) })
                }
                (None, Err(error)) => Err(EngineError { fault: Fault::Poor(reason), ..error }),
                // What was paid for is kept, and refused again.
                (Some(_), Ok(reply)) => Ok(reply),
                (Some(_), Err(error)) => Err(EngineError { fault: Fault::PoorTwice(reason), ..error }),
            }
        })
    };
    let end = window(&items, terms, ask, |step| {
        let question = |item: usize| open.get(item).map(|(at, question)| (*at, *question));
        run.step(step, question)
    })
    .await;
    run.ended(end)
}

/// [`run`] for an engine that answers at once, in the order of the tasks, each asked for once.
pub fn run_at_once(tasks: &[Task], engine: &dyn Engine, tell: impl FnMut(Event<'_>) -> ControlFlow<()>) -> Ran {
    let questions = Questions::each(tasks, engine);
    let running = run(tasks, &questions, engine, &Terms::AT_ONCE, None, tell);
    running.now_or_never().unwrap_or_else(|| Ran {
        outcomes: tasks.iter().map(|_| Outcome::Failed("the engine does not answer at once".to_owned())).collect(),
        spent: vec![Spent::default(); tasks.len()],
        lost: vec![Vec::new(); tasks.len()],
        end: End::Done,
        last_error: None,
    })
}

/// A run under way.
struct Run<'a, 'c, T> {
    tasks: &'a [Task],
    questions: &'a Questions,
    cache: Option<&'a mut Cache<'c>>,
    tell: T,
    /// The tasks of each question.
    tasks_of: Vec<Vec<usize>>,
    outcomes: Vec<Option<Outcome>>,
    spent: Vec<Spent>,
    lost: Vec<Vec<Placeholder>>,
    last_error: Option<EngineError>,
}

impl<'a, 'c, T: FnMut(Event<'_>) -> ControlFlow<()>> Run<'a, 'c, T> {
    fn new(tasks: &'a [Task], questions: &'a Questions, cache: Option<&'a mut Cache<'c>>, tell: T) -> Self {
        let tasks_of = questions.tasks_of();
        let (outcomes, spent) = (vec![None; tasks.len()], vec![Spent::default(); tasks.len()]);
        Self {
            tasks,
            questions,
            cache,
            tell,
            tasks_of,
            outcomes,
            spent,
            lost: vec![Vec::new(); tasks.len()],
            last_error: None,
        }
    }

    fn take_cached(&mut self) -> ControlFlow<()> {
        for (at, question) in self.questions.all.iter().enumerate() {
            if let Some(text) = &question.cached {
                self.finish(at, &Ok(text.clone()), Spent::default())?;
            }
        }
        ControlFlow::Continue(())
    }

    fn step<'q>(
        &mut self,
        step: Step<'_>,
        question: impl Fn(usize) -> Option<(usize, &'q Question)>,
    ) -> ControlFlow<()> {
        match step {
            Step::Waiting => (self.tell)(Event::Waiting),
            Step::Again(error) => (self.tell)(Event::Again(error)),
            Step::Done(item, result, spent) => {
                let Some((at, question)) = question(item) else { return ControlFlow::Continue(()) };
                let result = result.map(|reply| reply.text);
                if let (Ok(text), Some(cache)) = (&result, &mut self.cache) {
                    // Committed at once: a run may be killed at any moment.
                    if let Err(error) = cache.put(question, text).and_then(|()| cache.commit()) {
                        self.cache = None;
                        (self.tell)(Event::NotCached(&error))?;
                    }
                }
                self.last_error = result.as_ref().err().cloned().or_else(|| self.last_error.take());
                self.finish(at, &result, spent)
            }
        }
    }

    /// Takes the result of a question for all its tasks. The first bears what it took.
    fn finish(&mut self, at: usize, result: &Result<String, EngineError>, mut spent: Spent) -> ControlFlow<()> {
        let question = self.questions.all.get(at);
        let redacted = question.and_then(Question::redacted);
        // What no model wrote is of the text itself.
        let asked = question.filter(|question| question.inquiry().is_some()).map(Question::origin);
        let mut flow = ControlFlow::Continue(());
        for &task_idx in self.tasks_of.get(at).into_iter().flatten() {
            let Some(task) = self.tasks.get(task_idx) else { continue };
            let (outcome, lost) = judge(task, redacted, asked, result);
            let outcome = match outcome {
                Outcome::Kept(reason) if reason.is_poor() => extracted(task, asked.unwrap_or_default(), reason),
                outcome => outcome,
            };
            let spent = std::mem::take(&mut spent);
            if flow.is_continue() {
                flow = (self.tell)(Event::Finished { task, outcome: &outcome, spent });
            }
            if let Some(place) = self.outcomes.get_mut(task_idx) {
                *place = Some(outcome);
            }
            if let Some(place) = self.spent.get_mut(task_idx) {
                *place = spent;
            }
            if let Some(place) = self.lost.get_mut(task_idx) {
                *place = lost;
            }
        }
        flow
    }

    fn ended(self, end: End) -> Ran {
        let outcomes = self.outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Kept(Kept::NotAsked)));
        Ran { outcomes: outcomes.collect(), spent: self.spent, lost: self.lost, end, last_error: self.last_error }
    }
}

/// What comes of `task` by this result, and the placeholders that a reply has lost. `asked` is where the text comes from
/// that a model was asked to shorten; nothing where none was.
fn judge(
    task: &Task,
    redacted: Option<&Redacted>,
    asked: Option<Origin>,
    result: &Result<String, EngineError>,
) -> (Outcome, Vec<Placeholder>) {
    let text = match result {
        Ok(text) => text,
        Err(error) => {
            let outcome = match error.fault {
                Fault::Blank => Outcome::Kept(Kept::Blank),
                Fault::Poor(reason) | Fault::PoorTwice(reason) => Outcome::Kept(reason),
                _ => Outcome::Failed(error.to_string()),
            };
            return (outcome, Vec::new());
        }
    };
    let (text, lost) = match redacted.map(|redacted| redacted.restore(text)) {
        None => (text.clone(), Vec::new()),
        Some(Ok(restored)) => (restored.text, restored.lost),
        Some(Err(_)) => return (Outcome::Kept(Kept::ForeignPlaceholder), Vec::new()),
    };
    let outcome = Outcome::of_reply(task, text);
    let reason = match (&outcome, asked) {
        (Outcome::Compressed { text, .. }, Some(origin)) => unlike(task, origin, text),
        _ => None,
    };
    (reason.map_or(outcome, Outcome::Kept), lost)
}

/// Why what a model gave for `task` is poor, so that it is asked once more; `None` where it is good, or no shorter form
/// of the text at all.
fn poor_reason(task: &Task, question: &Question, result: &Result<Reply, EngineError>) -> Option<Kept> {
    question.inquiry()?;
    let result = match result {
        Ok(reply) => Ok(reply.text.clone()),
        Err(error) => Err(error.clone()),
    };
    match judge(task, question.redacted(), Some(question.origin()), &result).0 {
        Outcome::Kept(reason) if reason.is_poor() => Some(reason),
        _ => None,
    }
}

/// What the built-in engine makes of `task`, whose replies were refused for `reason`.
fn extracted(task: &Task, origin: Origin, reason: Kept) -> Outcome {
    let job = Job { text: &task.text, target: task.target };
    let reply = Engine::shrink(&Extract, Ask { job, origin, attempt: 1, refused: None }).now_or_never();
    match reply.and_then(Result::ok).map(|reply| Outcome::of_reply(task, reply.text)) {
        Some(Outcome::Compressed { text, tokens, .. }) => {
            Outcome::Compressed { text, tokens, by: Author::Extract(reason) }
        }
        _ => Outcome::Kept(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scripted;
    use crate::run::Kept;
    use crate::run::{Level, TaskPart};
    use ctxc_transcript::text::{Tokens, chars4};
    use ctxc_transcript::{LineNo, TurnIdx};

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
        let ran = run_at_once(&tasks(7), &engine, |_| {
            n_told += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(
            ran.outcomes,
            [
                Outcome::Compressed { text: "A lock per shard.".to_owned(), tokens: Tokens(5), by: Author::Engine },
                Outcome::Failed("the server said 500".to_owned()),
                Outcome::Kept(Kept::Blank),
                Outcome::Kept(Kept::ErrorText),
                Outcome::Kept(Kept::NotShorter),
                Outcome::Compressed { text: "Per shard.".to_owned(), tokens: Tokens(3), by: Author::Engine },
                Outcome::Failed("the script has ended".to_owned()),
            ]
        );
        assert_eq!((n_told, engine.n_left()), (7, 0));
    }

    #[test]
    fn a_run_that_is_broken_off_asks_for_nothing_more() {
        let engine = Scripted::new([Ok("One."), Ok("Two."), Ok("Three.")]);
        let mut n_told = 0;
        let ran = run_at_once(&tasks(3), &engine, |_| {
            n_told += 1;
            if n_told == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((ran.end, engine.n_left()), (End::Interrupted, 1));
    }
}
