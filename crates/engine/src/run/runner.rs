//! Runs requests through an engine: redacts secrets, uses cached replies, makes the other calls within the limits, judges
//! each reply, restores its secrets and caches it.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::cache::{self, Cache};
use super::event::{Event, Step};
use super::judge::Answer;
use super::options::{End, RunOptions};
use super::question::{Planned, Question};
use super::spent::Spent;
use super::window::{Item, RunLimits, window};
use crate::redact::Redactor;
use crate::{Attempt, Engine, EngineError, Fault, Prices, Reply, Request, Usd};
use ctxc_store::ArchiveError;

/// Runs requests through an engine.
pub struct Runner<'a> {
    /// The engine.
    pub engine: &'a dyn Engine,
    /// The limits and order of calls.
    pub options: &'a RunOptions,
    /// Replaces secrets by placeholders (G-01).
    pub redactor: Option<Redactor>,
    /// The cache of replies.
    pub cache: Option<Cache<'a>>,
    /// The prices of models.
    pub prices: Option<&'a Prices>,
}

impl<'a> Runner<'a> {
    /// A runner without redaction, cache and prices.
    #[must_use]
    pub fn new(engine: &'a dyn Engine, options: &'a RunOptions) -> Self {
        Self { engine, options, redactor: None, cache: None, prices: None }
    }

    /// Collects the secrets of all texts first, since a secret found in one of them is redacted in all.
    pub(super) fn learn<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        let Some(redactor) = &mut self.redactor else { return };
        texts.into_iter().for_each(|text| redactor.learn(text));
    }

    /// The number of different secrets with a placeholder.
    pub(super) fn n_secrets(&self) -> usize {
        self.redactor.as_ref().map_or(0, Redactor::n_secrets)
    }

    /// Redacts `given` and plans its call.
    pub(super) fn question<'r>(&mut self, given: Request<'r>) -> Question<'r> {
        let redacted = self.redactor.as_mut().map(|redactor| given.redacted(redactor));
        let (sent, secrets) = redacted.unzip();
        let sent = sent.unwrap_or_else(|| given.clone());
        let call = self.planned(&sent);
        Question { given, sent, secrets, call, cached: None }
    }

    fn planned(&self, sent: &Request<'_>) -> Option<Planned> {
        let inquiry = self.engine.inquiry(sent, Attempt::nth(1))?;
        let price = self.prices.and_then(|prices| prices.get(&inquiry.model));
        // Later attempts may have longer replies.
        let last = self.engine.inquiry(sent, Attempt::nth(u32::MAX));
        let most = price.zip(last).map_or(Usd::ZERO, |(price, last)| price.most(&last.call));
        Some(Planned { key: cache::key(self.engine.name(), &inquiry, sent), inquiry, price, most })
    }

    /// The cached reply to `question`.
    pub(super) fn find(&self, question: &Question<'_>) -> Result<Option<String>, ArchiveError> {
        match (&self.cache, &question.call) {
            (Some(cache), Some(call)) => cache.find(call.key),
            _ => Ok(None),
        }
    }

    /// Caches `reply` to `question`; if that fails, reports it and drops the cache.
    pub(super) fn keep(
        &mut self,
        question: &Question<'_>,
        reply: &str,
        tell: impl FnOnce(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (Some(cache), Some(call)) = (&mut self.cache, &question.call) else { return ControlFlow::Continue(()) };
        let Err(error) = cache.put(call.key, &call.inquiry, reply) else { return ControlFlow::Continue(()) };
        self.cache = None;
        tell(Event::NotCached(&error))
    }

    /// Answers `questions`: first those with a cached reply, then the others as their calls end. When `on` breaks, the run ends
    /// and calls under way are cancelled.
    pub(super) async fn ask(
        &mut self,
        questions: &[Question<'_>],
        limits: &mut RunLimits,
        mut on: impl FnMut(Step<'_, Answer>) -> ControlFlow<()>,
    ) -> End {
        let mut open = Vec::new();
        for (at, question) in questions.iter().enumerate() {
            // The archive may have been changed by others, so cached replies are judged too.
            let cached = question.cached.as_ref().map(|text| question.judge(Reply { text: text.clone(), usage: None }));
            let Some(Ok(answer)) = cached else {
                open.push((at, question, Cell::default()));
                continue;
            };
            if on(Step::Done(at, Ok(answer), Spent::default())).is_break() {
                return End::Interrupted;
            }
        }
        let items: Vec<Item> = open.iter().map(|(_, question, _)| Item::of(question)).collect();
        let (engine, options) = (self.engine, self.options);
        let call = |item: usize, number: u32| {
            let calling = open.get(item).map(|(_, question, refused)| {
                let attempt = Attempt { number, refused: refused.get() };
                (question, refused, engine.reply(&question.sent, attempt))
            });
            let n_left = options.attempts.saturating_sub(number);
            async move {
                let Some((question, refused, replying)) = calling else {
                    return Err(EngineError::new(Fault::Permanent, "there is no such question"));
                };
                question.take(replying.await, refused, n_left)
            }
        };
        let tell = |step: Step<'_, Answer>| match step {
            Step::Event(_) => on(step),
            Step::Done(item, result, spent) => {
                let Some((at, question, _)) = open.get(item) else { return ControlFlow::Continue(()) };
                if let Ok(answer) = &result {
                    self.keep(question, &answer.reply.text, |event| on(Step::Event(event)))?;
                }
                on(Step::Done(*at, result, spent))
            }
        };
        window(limits, &items, options, call, |answer| answer.reply.usage, tell).await
    }
}

impl Item {
    fn of(question: &Question<'_>) -> Self {
        let call = question.call.as_ref();
        Self {
            tokens: question.sent.size(),
            most: call.map(|call| call.most).unwrap_or_default(),
            price: call.and_then(|call| call.price),
        }
    }
}
