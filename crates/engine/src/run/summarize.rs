//! Summarizes messages chunk by chunk, each together with the summary so far (F-04).
//!
//! Calls run one at a time, since each needs the previous summary. A chunk that is too large for the server is halved (F-09).

use std::ops::ControlFlow;

use futures::FutureExt;

use super::event::{Event, Step};
use super::judge::within_limit;
use super::options::{End, RunOptions};
use super::outcome::Outcome;
use super::question::{Asked, Question};
use super::runner::Runner;
use super::spent::Spent;
use super::window::RunLimits;
use crate::{Attempt, Engine, EngineError, Fault, Request, Said, Summarize, cut};
use ctxc_store::ArchiveError;

/// The summaries of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summarized {
    /// One summary per chunk.
    pub summaries: Vec<String>,
    /// The usage of all calls.
    pub spent: Spent,
    /// The requests, if the engine made calls.
    pub asked: Vec<Asked>,
    /// The number of different secrets that were redacted.
    pub n_secrets: usize,
}

/// The reason why there are no summaries; one failed chunk fails all of them.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SummaryError {
    /// The chunk with this index, from 0, failed.
    #[error("summarize part {place}", place = .0 + 1)]
    Engine(usize, #[source] EngineError),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

/// The summary of messages without text.
pub const NOTHING_SAID: &str = "(nothing was said)";

impl Runner<'_> {
    /// Summarizes each of `chunks` with the summary so far, the first one with that of `wanted` (F-04). No summary is blank or
    /// over the limit, whatever the engine returns (H-04).
    ///
    /// # Errors
    /// If one of the chunks fails (F-09).
    pub async fn summarize(
        &mut self,
        chunks: &[Vec<Said>],
        wanted: &Summarize<'_>,
        tell: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Summarized, SummaryError> {
        self.learn_all(chunks, wanted);
        let limits = RunLimits::new(self.options);
        let mut run = Run { runner: self, wanted, tell, limits, done: Summarized::default() };
        for (at, messages) in chunks.iter().enumerate() {
            let so_far = run.done.summaries.last().map_or(wanted.existing.as_ref(), String::as_str).to_owned();
            let summary = run.chunk(messages, so_far).await?;
            run.done.summaries.push(summary);
            unless_interrupted((run.tell)(Event::Finished { at, outcome: None, spent: Spent::default() }))?;
        }
        Ok(Summarized { n_secrets: run.runner.n_secrets(), ..run.done })
    }

    /// The requests that [`summarize`](Self::summarize) would make, without retries, and the number of different secrets that
    /// would be redacted. An unknown summary so far is assumed to be between empty and as long as its limit.
    ///
    /// # Errors
    /// If the cache cannot be read.
    pub fn expect_summaries(
        &mut self,
        chunks: &[Vec<Said>],
        wanted: &Summarize<'_>,
    ) -> Result<(Vec<Asked>, usize), ArchiveError> {
        self.learn_all(chunks, wanted);
        let filler = "x".repeat(usize::try_from(wanted.limit.0.saturating_mul(4)).unwrap_or(usize::MAX).min(1 << 20));
        let mut so_far = Some(wanted.existing.to_string());
        let mut asked = Vec::new();
        for messages in chunks.iter().filter(|messages| says_something(messages)) {
            let mut question = self.question(with(wanted, so_far.as_deref().unwrap_or_default(), messages));
            if so_far.is_some() {
                question.cached = self.find(&question)?;
            }
            let Some(mut least) = question.asked() else { continue };
            if let (None, Some(range), Request::Summarize(sent)) = (&so_far, &mut least.expected, &question.sent) {
                let longest = self.engine.inquiry(&with(sent, &filler, &sent.messages), Attempt::nth(1));
                let price = question.call.as_ref().and_then(|call| call.price);
                range.high = price.zip(longest).map_or(range.high, |(price, longest)| price.expect(&longest.call).high);
            }
            asked.push(least);
            let known = question.cached.as_ref().and_then(|reply| question.restore(reply).ok());
            so_far = known.map(|known| cut(&known.text, wanted.limit));
        }
        Ok((asked, self.n_secrets()))
    }

    fn learn_all(&mut self, chunks: &[Vec<Said>], wanted: &Summarize<'_>) {
        let messages = chunks.iter().flatten().map(|said| said.text.as_str());
        self.learn(std::iter::once(wanted.existing.as_ref()).chain(messages));
    }
}

/// [`Runner::summarize`] for an engine that answers at once.
///
/// # Errors
/// Those of [`Runner::summarize`], and if the engine does not answer at once.
pub fn summarize_at_once(
    chunks: &[Vec<Said>],
    wanted: &Summarize<'_>,
    engine: &dyn Engine,
    tell: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<Summarized, SummaryError> {
    Runner::new(engine, &RunOptions::AT_ONCE).summarize(chunks, wanted, tell).now_or_never().unwrap_or_else(|| {
        Err(SummaryError::Engine(0, EngineError::new(Fault::Permanent, "the engine does not answer at once")))
    })
}

/// The request for a summary of `messages` that continues `existing`.
fn with<'r>(wanted: &Summarize<'r>, existing: &'r str, messages: &'r [Said]) -> Request<'r> {
    Request::Summarize(Summarize { existing: existing.into(), messages: messages.into(), ..*wanted })
}

/// Whether a message is not blank.
fn says_something(messages: &[Said]) -> bool {
    messages.iter().any(|said| !said.text.trim().is_empty())
}

/// The state of a run of summaries.
struct Run<'r, 'a, 'w, T> {
    runner: &'r mut Runner<'a>,
    wanted: &'r Summarize<'w>,
    tell: T,
    limits: RunLimits,
    done: Summarized,
}

impl<'w, T: FnMut(Event<'_>) -> ControlFlow<()>> Run<'_, '_, 'w, T> {
    /// The summary of `messages` and of the summary so far, in halves if necessary.
    async fn chunk(&mut self, messages: &[Said], mut so_far: String) -> Result<String, SummaryError> {
        if !says_something(messages) {
            let is_blank = so_far.trim().is_empty();
            return Ok(within_limit(self.wanted, if is_blank { NOTHING_SAID } else { &so_far }));
        }
        let first = so_far.clone();
        let mut open = vec![messages];
        let mut is_halved = false;
        while let Some(part) = open.pop() {
            let error = match self.part(part, &so_far).await {
                Ok(summary) => {
                    so_far = summary;
                    continue;
                }
                Err(SummaryError::Engine(_, error)) if part.len() > 1 && is_too_much(&error) => error,
                Err(error) => return Err(error),
            };
            unless_interrupted((self.tell)(Event::Halved(&error)))?;
            is_halved = true;
            let (early, late) = part.split_at(part.len() / 2);
            open.extend([late, early].into_iter().filter(|half| says_something(half)));
        }
        if is_halved {
            // Caches the result for the whole chunk, so that the next run does not try it again.
            let whole = self.question(messages, &first);
            let summary = self.question(&[], &so_far).sent;
            let redacted = summary.texts().next().unwrap_or_default();
            unless_interrupted(self.runner.keep(&whole, redacted, &mut self.tell))?;
        }
        Ok(so_far)
    }

    /// The summary of `messages` and of the summary so far, by one request.
    async fn part(&mut self, messages: &[Said], so_far: &str) -> Result<String, SummaryError> {
        let mut question = self.question(messages, so_far);
        match self.runner.find(&question) {
            Ok(found) => question.cached = found,
            Err(error) => {
                self.runner.cache = None;
                unless_interrupted((self.tell)(Event::NotCached(&error)))?;
            }
        }
        let mut answered = None;
        let tell = &mut self.tell;
        let asking = self.runner.ask(std::slice::from_ref(&question), &mut self.limits, |event| match event {
            Step::Event(event) => tell(event),
            Step::Done(_, result, spent) => {
                answered = Some((result, spent));
                ControlFlow::Continue(())
            }
        });
        let end = asking.await;
        let (result, spent) = answered.unzip();
        let spent = spent.unwrap_or_default();
        self.done.spent += spent;
        let answer = match end {
            End::Interrupted => return Err(SummaryError::Interrupted),
            End::Refused(error) | End::GaveUp(error) => Err(error),
            End::OverBudget => Err(over_budget(self.runner.options)),
            End::Done => result.unwrap_or_else(|| Err(EngineError::new(Fault::Permanent, "there was no reply"))),
        };
        let answer = answer.map_err(|error| SummaryError::Engine(self.done.summaries.len(), error))?;
        let asked = question.asked().map(|asked| Asked { is_cached: spent.calls == 0, spent, ..asked });
        self.done.asked.extend(asked);
        match answer.outcome {
            Outcome::Compressed { text, .. } => Ok(text),
            Outcome::Kept(_) | Outcome::Failed(_) => Ok(String::new()),
        }
    }

    fn question<'q>(&mut self, messages: &'q [Said], so_far: &'q str) -> Question<'q>
    where
        'w: 'q,
    {
        self.runner.question(with(self.wanted, so_far, messages))
    }
}

fn unless_interrupted(flow: ControlFlow<()>) -> Result<(), SummaryError> {
    if flow.is_break() { Err(SummaryError::Interrupted) } else { Ok(()) }
}

fn over_budget(options: &RunOptions) -> EngineError {
    let cap = options.max_cost.map(|cap| format!(" over {cap}")).unwrap_or_default();
    EngineError::new(Fault::Permanent, format!("another call could take the cost{cap}"))
}

/// Whether a smaller part may succeed: the call timed out, or the text exceeds the model's context.
fn is_too_much(error: &EngineError) -> bool {
    let message = error.message.to_lowercase();
    let is_too_long = || {
        ["context length", "context window", "context size", "too long", "too large", "too many tokens", "(413)"]
            .iter()
            .any(|words| message.contains(words))
    };
    error.fault == Fault::Timeout || error.fault == Fault::Permanent && is_too_long()
}

#[cfg(test)]
mod tests;
