//! What is asked of an engine for some tasks: each text once, as it leaves the machine.

use std::collections::HashMap;

use super::cache::{self, Cache};
use crate::redact::{Redacted, Redactor};
use crate::run::{Kept, Task, TaskPart};
use crate::{Ask, CostRange, Engine, Inquiry, Job, Origin, Price, Usd};
use ctxc_store::ArchiveError;
use ctxc_transcript::text::{Digest, Tokens};

/// All that is asked for some tasks.
#[derive(Default)]
pub struct Questions {
    pub(super) all: Vec<Question>,
    /// For each task the place of its question.
    of_task: Vec<usize>,
    n_secrets: usize,
}

/// One text that is asked for, for one task or for several that are equal.
pub struct Question {
    /// The text as it leaves the machine, and what stands for its secrets.
    redacted: Option<Redacted>,
    /// The text where it keeps its secrets.
    plain: String,
    target: Tokens,
    origin: Origin,
    /// The call that it would be; `None` where the engine calls nobody.
    pub(super) inquiry: Option<Inquiry>,
    /// What a call for it may cost at most, and the price of its model.
    pub(super) most: Usd,
    pub(super) price: Option<Price>,
    /// Under which its result is cached.
    pub(super) key: Option<Digest>,
    /// The result, where it is there already.
    pub(super) cached: Option<String>,
}

impl Questions {
    /// What `tasks` ask of `engine`, with placeholders for what `redactor` takes for secrets. What `cache` holds is not
    /// asked again. `price` is that of a model, where it is known.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn of(
        tasks: &[Task],
        engine: &dyn Engine,
        mut redactor: Option<&mut Redactor>,
        cache: Option<&Cache<'_>>,
        price: impl Fn(&str) -> Option<Price>,
    ) -> Result<Self, ArchiveError> {
        // What one text shows to be a secret is one in all of them.
        if let Some(redactor) = &mut redactor {
            for task in tasks {
                redactor.learn(&task.text);
            }
        }
        let mut found = Self::default();
        let mut known: HashMap<Digest, usize> = HashMap::new();
        for task in tasks {
            let redacted = redactor.as_mut().map(|redactor| redactor.redact(&task.text));
            let mut question = Question::of(task, redacted, engine, &price);
            let same = question.key.and_then(|key| known.get(&key).copied());
            let at = if let Some(at) = same {
                at
            } else {
                if let Some(key) = question.key {
                    question.cached = cache.map(|cache| cache.find(key)).transpose()?.flatten();
                    known.insert(key, found.all.len());
                }
                found.all.push(question);
                found.all.len() - 1
            };
            found.of_task.push(at);
        }
        found.n_secrets = redactor.map_or(0, |redactor| redactor.n_secrets());
        Ok(found)
    }

    /// What `tasks` ask of an engine that calls nobody: each of them, once.
    pub(super) fn each(tasks: &[Task], engine: &dyn Engine) -> Self {
        let questions = tasks.iter().map(|task| Question::of(task, None, engine, |_| None)).collect();
        Self { all: questions, of_task: (0..tasks.len()).collect(), n_secrets: 0 }
    }

    /// The questions that are not answered by the cache.
    pub fn open(&self) -> impl Iterator<Item = &Question> {
        self.all.iter().filter(|question| question.cached.is_none())
    }

    /// The question of each task.
    pub fn of_tasks(&self) -> impl Iterator<Item = Option<&Question>> {
        self.of_task.iter().map(|at| self.all.get(*at))
    }

    /// For each question the places of its tasks.
    pub(super) fn tasks_of(&self) -> Vec<Vec<usize>> {
        let mut tasks_of = vec![Vec::new(); self.all.len()];
        for (task, at) in self.of_task.iter().enumerate() {
            if let Some(tasks) = tasks_of.get_mut(*at) {
                tasks.push(task);
            }
        }
        tasks_of
    }

    /// How many results are there already.
    #[must_use]
    pub fn n_cached(&self) -> usize {
        self.all.len() - self.open().count()
    }

    /// How many different secrets have a placeholder.
    #[must_use]
    pub const fn n_secrets(&self) -> usize {
        self.n_secrets
    }

    /// Between what and what all calls together are expected to cost, each made once; `None` where a price is unknown.
    #[must_use]
    pub fn cost(&self) -> Option<CostRange> {
        let calls = self.open().filter_map(|question| Some((question.price, question.inquiry.as_ref()?)));
        calls.map(|(price, inquiry)| Some(price?.expect(&inquiry.call))).sum()
    }
}

impl Question {
    fn of(task: &Task, redacted: Option<Redacted>, engine: &dyn Engine, price: impl Fn(&str) -> Option<Price>) -> Self {
        let origin = match task.part {
            TaskPart::Text => Origin::Message,
            TaskPart::ToolResult(_) => Origin::Tool,
        };
        let text = redacted.as_ref().map_or(task.text.as_str(), |redacted| &redacted.text);
        let inquiry =
            engine.inquiry(&Ask { job: Job { text, target: task.target }, origin, attempt: 1, refused: None });
        let price = inquiry.as_ref().and_then(|inquiry| price(&inquiry.model));
        let key = inquiry.as_ref().map(|inquiry| cache::key(engine.name(), inquiry, task.target, text));
        // A later attempt may have a longer reply.
        let last =
            engine.inquiry(&Ask { job: Job { text, target: task.target }, origin, attempt: u32::MAX, refused: None });
        let most = price.zip(last).map_or(Usd::ZERO, |(price, inquiry)| price.most(&inquiry.call));
        let plain = if redacted.is_some() { String::new() } else { task.text.clone() };
        Self { redacted, plain, target: task.target, origin, inquiry, most, price, key, cached: None }
    }

    /// The text as it leaves the machine.
    #[must_use]
    pub fn text(&self) -> &str {
        self.redacted.as_ref().map_or(&self.plain, |redacted| &redacted.text)
    }

    /// What stands for its secrets, where they were replaced.
    pub(super) fn redacted(&self) -> Option<&Redacted> {
        self.redacted.as_ref()
    }

    /// The call that it would be; `None` where the engine calls nobody.
    #[must_use]
    pub fn inquiry(&self) -> Option<&Inquiry> {
        self.inquiry.as_ref()
    }

    /// Where the text comes from.
    pub(super) const fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether its result is there already.
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.cached.is_some()
    }

    pub(super) fn ask(&self, attempt: u32, refused: Option<Kept>) -> Ask<'_> {
        Ask { job: Job { text: self.text(), target: self.target }, origin: self.origin, attempt, refused }
    }
}
