//! Messages to summaries, chunk by chunk: each is folded into the summary so far (F-04).
//!
//! One call is under way at a time, for each waits for what the one before gave; retries, timeouts, the rate and the budget
//! are those of [`super::window`]. A chunk that is too much for the server is halved (F-09).

use std::cell::RefCell;
use std::ops::ControlFlow;

use futures::FutureExt;

use super::leaving::{Asked, FoldQuestion, Leaving, Precautions};
use super::likeness::foreign_to;
use super::outcome::is_error_text;
use super::spent::Spent;
use super::terms::{End, Terms};
use super::window::{Course, Item, Step, window_of};
use crate::{Engine, EngineError, Fault, Fold, Prompts, Reply, Said, cut};
use ctxc_store::ArchiveError;
use ctxc_transcript::text::{Tokens, chars4};

/// How messages are folded.
pub struct Folding<'a> {
    /// By which engine.
    pub engine: &'a dyn Engine,
    /// How its calls are made.
    pub terms: &'a Terms,
    /// The most that a summary may have, in `chars4` tokens.
    pub limit: Tokens,
    /// Who summarises; may be empty.
    pub persona: &'a str,
    /// What becomes of what the person typed.
    pub prompts: Prompts,
    /// What a model is told instead of the default.
    pub prompt: Option<&'a str>,
}

impl Folding<'_> {
    /// `summary` within the limit, if it has to be.
    fn limited(&self, summary: &str) -> String {
        match self.prompts {
            Prompts::Compete => cut(summary, self.limit),
            Prompts::Whole => summary.to_owned(),
        }
    }
}

/// Events while summaries are made.
#[derive(Debug)]
pub enum FoldEvent<'a> {
    /// The chunk of this place, from 0, has its summary.
    Finished(usize),
    /// A call failed for this reason, and is made again.
    Again(&'a EngineError),
    /// A chunk failed for this reason, and is folded in halves.
    Halved(&'a EngineError),
    /// A reply could not be kept: should the run be broken off, it is asked for again.
    NotCached(&'a ArchiveError),
    /// Nothing has happened for a moment.
    Waiting,
}

/// Summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// One for each chunk.
    pub summaries: Vec<String>,
    /// What they took.
    pub spent: Spent,
    /// What was asked for them, where a server was.
    pub asked: Vec<Asked>,
    /// How many different secrets were replaced.
    pub n_secrets: usize,
}

/// Why there are no summaries: without one of them there is none.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FoldFailure {
    /// The chunk of this place, from 0, has none.
    #[error("summarize part {place}", place = .0 + 1)]
    Engine(usize, #[source] EngineError),
    /// Somebody broke it off.
    #[error("interrupted")]
    Interrupted,
}

/// The summary of messages without a word.
pub const NOTHING_SAID: &str = "(nothing was said)";

/// Above this part of its limit, in percent, a summary is asked for again before it is cut.
const MOST_OVER: u64 = 125;

/// Summarises each of `chunks`, each with the summary so far folded in; the first gets `existing` (F-04).
///
/// # Errors
/// When one of them has no summary; then there is none at all (F-09).
pub async fn fold(
    chunks: &[Vec<Said>],
    existing: &str,
    folding: &Folding<'_>,
    tell: impl FnMut(FoldEvent<'_>) -> ControlFlow<()>,
) -> Result<Folded, FoldFailure> {
    fold_with(chunks, existing, folding, Precautions::default(), tell).await
}

/// [`fold`] for an engine that answers at once.
///
/// # Errors
/// As [`fold`], and when the engine does not answer at once.
pub fn fold_at_once(
    chunks: &[Vec<Said>],
    existing: &str,
    folding: &Folding<'_>,
    tell: impl FnMut(FoldEvent<'_>) -> ControlFlow<()>,
) -> Result<Folded, FoldFailure> {
    fold(chunks, existing, folding, tell).now_or_never().unwrap_or_else(|| {
        Err(FoldFailure::Engine(0, EngineError::new(Fault::Permanent, "the engine does not answer at once")))
    })
}

/// [`fold`] with precautions for texts that leave the machine: secrets are replaced and put back (G-01), and what was paid
/// for is kept. No summary is blank or over the limit, whatever the engine says (H-04).
///
/// # Errors
/// As [`fold`].
pub async fn fold_with(
    chunks: &[Vec<Said>],
    existing: &str,
    folding: &Folding<'_>,
    mut precautions: Precautions<'_, '_>,
    tell: impl FnMut(FoldEvent<'_>) -> ControlFlow<()>,
) -> Result<Folded, FoldFailure> {
    precautions.learn(chunks, existing);
    let course = Course::new(folding.terms);
    let mut run = Run { folding, precautions, tell, course, folded: Folded::default() };
    for (at, messages) in chunks.iter().enumerate() {
        let so_far = run.folded.summaries.last().map_or(existing, String::as_str).to_owned();
        let summary = run.chunk(messages, so_far).await.map_err(|stop| match stop {
            Stop::Failed(error) => FoldFailure::Engine(at, error),
            Stop::Interrupted => FoldFailure::Interrupted,
        })?;
        run.folded.summaries.push(summary);
        if (run.tell)(FoldEvent::Finished(at)).is_break() {
            return Err(FoldFailure::Interrupted);
        }
    }
    run.folded.n_secrets = run.precautions.redactor.as_ref().map_or(0, |redactor| redactor.n_secrets());
    Ok(run.folded)
}

/// Whether there is a word in `messages`.
pub(super) fn says_something(messages: &[Said]) -> bool {
    messages.iter().any(|said| !said.text.trim().is_empty())
}

/// Why a chunk has no summary.
enum Stop {
    Failed(EngineError),
    Interrupted,
}

/// Folding under way.
struct Run<'f, 'a, 'c, T> {
    folding: &'f Folding<'f>,
    precautions: Precautions<'a, 'c>,
    tell: T,
    course: Course,
    folded: Folded,
}

impl<T: FnMut(FoldEvent<'_>) -> ControlFlow<()>> Run<'_, '_, '_, T> {
    /// The summary of `messages`, folded into that so far, by halves where it has to be.
    async fn chunk(&mut self, messages: &[Said], mut so_far: String) -> Result<String, Stop> {
        if !says_something(messages) {
            let is_blank = so_far.trim().is_empty();
            return Ok(self.folding.limited(if is_blank { NOTHING_SAID } else { &so_far }));
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
                Err(Stop::Failed(error)) if part.len() > 1 && is_too_much(&error) => error,
                Err(stop) => return Err(stop),
            };
            if (self.tell)(FoldEvent::Halved(&error)).is_break() {
                return Err(Stop::Interrupted);
            }
            is_halved = true;
            let (early, late) = part.split_at(part.len() / 2);
            open.extend([late, early].into_iter().filter(|half| says_something(half)));
        }
        if is_halved {
            // The next run need not find out that the whole is too much.
            let leaving = self.precautions.leave(messages, &first);
            let redacted = self.precautions.leave(&[], &so_far);
            if let Some(question) = self.precautions.question(self.folding.engine, &leaving.fold(self.folding)) {
                self.keep(&question, redacted.fold(self.folding).existing)?;
            }
        }
        Ok(so_far)
    }

    /// The summary of `messages`, by one question.
    async fn part(&mut self, messages: &[Said], so_far: &str) -> Result<String, Stop> {
        let leaving = self.precautions.leave(messages, so_far);
        let fold = leaving.fold(self.folding);
        let question = self.precautions.question(self.folding.engine, &fold);
        let cached = match &question {
            Some(question) => self.find(question)?,
            None => None,
        };
        // What somebody else put there is judged as well.
        let cached = cached.and_then(|text| judged(&leaving, Ok(Reply { text, usage: None })).ok());
        let is_cached = cached.is_some();
        let (reply, spent) = match cached {
            Some(reply) => (reply.text, Spent::default()),
            None => self.ask(&leaving, fold, question.as_ref()).await?,
        };
        if let Some(question) = &question {
            self.folded.asked.push(Asked {
                model: question.inquiry.model.clone(),
                size: leaving.size(),
                is_cached,
                expected: question.price.map(|price| price.expect(&question.inquiry.call)),
                spent,
            });
            if !is_cached {
                self.keep(question, &reply)?;
            }
        }
        let restored = leaving.restore(&reply).map_err(|error| Stop::Failed(foreign(&error.to_string())))?;
        Ok(self.folding.limited(restored.trim()))
    }

    /// The reply to `question`, and what it took.
    async fn ask(
        &mut self,
        leaving: &Leaving,
        fold: Fold<'_>,
        question: Option<&FoldQuestion>,
    ) -> Result<(String, Spent), Stop> {
        let terms = self.folding.terms;
        let item = Item {
            tokens: leaving.size(),
            most: question.map(|question| question.most).unwrap_or_default(),
            price: question.and_then(|question| question.price),
        };
        let engine = self.folding.engine;
        let done = RefCell::new(None);
        let again = |attempt: u32| attempt < terms.attempts;
        let items = [item];
        let end = window_of(
            &mut self.course,
            &items,
            terms,
            |_, attempt| {
                Box::pin(async move {
                    let reply = judged(leaving, engine.fold(fold, attempt).await)?;
                    let size = chars4(&reply.text);
                    let is_limited = fold.prompts == Prompts::Compete;
                    if is_limited && size.0 * 100 > fold.limit.0 * MOST_OVER && again(attempt) {
                        let message =
                            format!("the summary has {} tokens, of {} that it may have", size.0, fold.limit.0);
                        return Err(EngineError { usage: reply.usage, ..EngineError::new(Fault::BadReply, message) });
                    }
                    Ok(reply)
                })
            },
            |step| match step {
                Step::Waiting => (self.tell)(FoldEvent::Waiting),
                Step::Again(error) => (self.tell)(FoldEvent::Again(error)),
                Step::Done(_, result, spent) => {
                    done.replace(Some((result, spent)));
                    ControlFlow::Continue(())
                }
            },
        )
        .await;
        let (result, spent) = done.into_inner().unzip();
        self.folded.spent += spent.unwrap_or_default();
        match end {
            End::Interrupted => Err(Stop::Interrupted),
            End::Refused(error) | End::GaveUp(error) => Err(Stop::Failed(error)),
            End::OverBudget => Err(Stop::Failed(over_budget(terms))),
            End::Done => match result {
                Some(Ok(reply)) => Ok((reply.text, spent.unwrap_or_default())),
                Some(Err(error)) => Err(Stop::Failed(error)),
                None => Err(Stop::Failed(EngineError::new(Fault::Permanent, "there was no reply"))),
            },
        }
    }

    fn find(&mut self, question: &FoldQuestion) -> Result<Option<String>, Stop> {
        match self.precautions.find(question.key) {
            Ok(found) => Ok(found),
            Err(error) => self.without_cache(&error).map(|()| None),
        }
    }

    fn keep(&mut self, question: &FoldQuestion, reply: &str) -> Result<(), Stop> {
        match self.precautions.put(question, reply) {
            Ok(()) => Ok(()),
            Err(error) => self.without_cache(&error),
        }
    }

    /// Goes on without a cache that fails.
    fn without_cache(&mut self, error: &ArchiveError) -> Result<(), Stop> {
        self.precautions.cache = None;
        if (self.tell)(FoldEvent::NotCached(error)).is_break() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

/// `reply`, or why it is none.
fn judged(leaving: &Leaving, reply: Result<Reply, EngineError>) -> Result<Reply, EngineError> {
    let reply = reply?;
    let first_line = reply.text.trim_start().lines().next().unwrap_or_default().trim_end();
    let refused = if reply.text.trim().is_empty() {
        EngineError::new(Fault::Blank, "the summary is blank")
    } else if is_error_text(&reply.text, "") && !leaving.holds(first_line) {
        EngineError::new(Fault::BadReply, "the summary is an error text")
    } else if let Err(error) = leaving.restore(&reply.text) {
        foreign(&error.to_string())
    } else if let Some(n_facts) = foreign_to(&leaving.whole(), &reply.text) {
        let message = format!(
            "the summary has nothing to do with its messages: none of their {n_facts} facts is in it, and hardly one of their words"
        );
        EngineError::new(Fault::BadReply, message)
    } else {
        return Ok(reply);
    };
    Err(EngineError { usage: reply.usage, ..refused })
}

fn foreign(message: &str) -> EngineError {
    EngineError::new(Fault::BadReply, message)
}

fn over_budget(terms: &Terms) -> EngineError {
    let cap = terms.max_cost.map(|cap| format!(" over {cap}")).unwrap_or_default();
    EngineError::new(Fault::Permanent, format!("another call could take the cost{cap}"))
}

/// Whether a smaller part might do: there was no reply in time, or the text is longer than the model reads.
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
