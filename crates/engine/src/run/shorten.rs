//! Shortens the texts of tasks. Each different text is requested once, and all its tasks share the outcome.

use std::collections::HashMap;
use std::ops::ControlFlow;

use futures::FutureExt;

use super::event::{Event, Step};
use super::options::{End, RunOptions};
use super::outcome::{Author, Kept, Outcome};
use super::question::{Asked, Question};
use super::runner::Runner;
use super::spent::Spent;
use super::task::{Task, TaskPart};
use super::window::RunLimits;
use crate::redact::Placeholder;
use crate::{Engine, EngineError, Extract, Fault, Origin, Request, Shorten};
use ctxc_store::ArchiveError;
use ctxc_transcript::text::Digest;

/// The questions for some tasks.
pub struct Questions<'t> {
    tasks: &'t [Task],
    all: Vec<Question<'t>>,
    /// The indices of the tasks of each question, in order.
    tasks_of: Vec<Vec<usize>>,
    /// The number of different secrets with a placeholder.
    pub n_secrets: usize,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The outcome of each task, in order.
    pub outcomes: Vec<Outcome>,
    /// The usage of each task, in order. The first of equal tasks has the usage of all.
    pub spent: Vec<Spent>,
    /// The placeholders of secrets that the reply of each task lacks.
    pub lost: Vec<Vec<Placeholder>>,
    /// The end of the run.
    pub end: End,
    /// The error of the last task without a reply.
    pub last_error: Option<EngineError>,
}

impl Questions<'_> {
    /// The requests, one for each different text.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.all.iter().filter_map(Question::asked).collect()
    }

    /// The request of each task.
    #[must_use]
    pub fn asked_of_tasks(&self) -> Vec<Option<Asked>> {
        let mut asked = vec![None; self.tasks.len()];
        for (question, tasks) in self.all.iter().zip(&self.tasks_of) {
            for &at in tasks {
                if let Some(place) = asked.get_mut(at) {
                    *place = question.asked();
                }
            }
        }
        asked
    }
}

impl Runner<'_> {
    /// The questions for `tasks`, with cached replies.
    ///
    /// # Errors
    /// If the cache cannot be read.
    pub fn questions<'t>(&mut self, tasks: &'t [Task]) -> Result<Questions<'t>, ArchiveError> {
        let mut questions = self.open_questions(tasks);
        for question in &mut questions.all {
            question.cached = self.find(question)?;
        }
        Ok(questions)
    }

    fn open_questions<'t>(&mut self, tasks: &'t [Task]) -> Questions<'t> {
        self.learn(tasks.iter().map(|task| task.text.as_str()));
        let mut found = Questions { tasks, all: Vec::new(), tasks_of: Vec::new(), n_secrets: 0 };
        let mut known: HashMap<Digest, usize> = HashMap::new();
        for (task_idx, task) in tasks.iter().enumerate() {
            let question = self.question(Request::Shorten(task.request()));
            let next = found.all.len();
            let at = question.call.as_ref().map_or(next, |call| *known.entry(call.key).or_insert(next));
            if at == next {
                found.all.push(question);
                found.tasks_of.push(Vec::new());
            }
            if let Some(tasks) = found.tasks_of.get_mut(at) {
                tasks.push(task_idx);
            }
        }
        found.n_secrets = self.n_secrets();
        found
    }

    /// Runs `questions` and returns the outcomes in the order of the tasks, whatever the order of the replies. A failed
    /// task does not stop the others (B-08). When `tell` breaks, the run ends and the remaining texts stay unchanged.
    pub async fn shorten(
        &mut self,
        questions: &Questions<'_>,
        mut tell: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Ran {
        let mut ran = Ran::of(questions.tasks.len(), Outcome::Kept(Kept::NotAsked));
        let mut limits = RunLimits::new(self.options);
        let end = self.ask(&questions.all, &mut limits, |event| match event {
            Step::Event(event) => tell(event),
            Step::Done(at, result, spent) => {
                let place = questions.all.get(at).zip(questions.tasks_of.get(at));
                let Some((question, tasks)) = place else { return ControlFlow::Continue(()) };
                let (outcome, lost) = match result {
                    Ok(answer) => (answer.outcome, answer.lost),
                    Err(error) => {
                        let outcome = outcome_of(&error);
                        ran.last_error = Some(error);
                        (outcome, Vec::new())
                    }
                };
                ran.finish(tasks, &or_extracted(outcome, &question.given), &lost, spent, &mut tell)
            }
        });
        let end = end.await;
        Ran { end, ..ran }
    }
}

/// [`Runner::shorten`] for an engine that answers at once, in the order of the tasks and without retries.
pub fn shorten_at_once(tasks: &[Task], engine: &dyn Engine, tell: impl FnMut(Event<'_>) -> ControlFlow<()>) -> Ran {
    let mut runner = Runner::new(engine, &RunOptions::AT_ONCE);
    let questions = runner.open_questions(tasks);
    let ran = runner.shorten(&questions, tell).now_or_never();
    ran.unwrap_or_else(|| Ran::of(tasks.len(), Outcome::Failed("the engine does not answer at once".to_owned())))
}

impl Task {
    /// The request for this task.
    pub(super) fn request(&self) -> Shorten<'_> {
        let origin = match self.part {
            TaskPart::Text => Origin::Message,
            TaskPart::ToolResult(_) => Origin::Tool,
        };
        Shorten { text: self.text.as_str().into(), target: self.target, origin }
    }
}

impl Ran {
    fn of(n_tasks: usize, outcome: Outcome) -> Self {
        Self {
            outcomes: vec![outcome; n_tasks],
            spent: vec![Spent::default(); n_tasks],
            lost: vec![Vec::new(); n_tasks],
            end: End::Done,
            last_error: None,
        }
    }

    /// Records the outcome of the tasks at these indices; the first one gets the usage.
    fn finish(
        &mut self,
        tasks: &[usize],
        outcome: &Outcome,
        lost: &[Placeholder],
        mut spent: Spent,
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        for &at in tasks {
            let spent = std::mem::take(&mut spent);
            if flow.is_continue() {
                flow = tell(Event::Finished { at, outcome: Some(outcome), spent });
            }
            if let Some(place) = self.outcomes.get_mut(at) {
                place.clone_from(outcome);
            }
            if let Some(place) = self.spent.get_mut(at) {
                *place = spent;
            }
            if let Some(place) = self.lost.get_mut(at) {
                *place = lost.to_vec();
            }
        }
        flow
    }
}

/// The outcome of a text whose request failed.
fn outcome_of(error: &EngineError) -> Outcome {
    match error.fault {
        Fault::Blank => Outcome::Kept(Kept::Blank),
        Fault::Poor(reason) | Fault::PoorTwice(reason) => Outcome::Kept(reason),
        _ => Outcome::Failed(error.to_string()),
    }
}

/// `outcome`, or that of the built-in engine if the replies were poor (K-06).
fn or_extracted(outcome: Outcome, given: &Request<'_>) -> Outcome {
    let (Outcome::Kept(reason), Request::Shorten(given)) = (&outcome, given) else { return outcome };
    if !reason.is_poor() {
        return outcome;
    }
    match Outcome::of_reply(&given.text, Extract.shorten(given)) {
        Outcome::Compressed { text, tokens, .. } => Outcome::Compressed { text, tokens, by: Author::Extract(*reason) },
        _ => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scripted;
    use crate::run::Level;
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
        let ran = shorten_at_once(&tasks(7), &engine, |_| {
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
        let ran = shorten_at_once(&tasks(3), &engine, |_| {
            n_told += 1;
            if n_told == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((ran.end, engine.n_left()), (End::Interrupted, 1));
    }
}
