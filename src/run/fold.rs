//! Messages to summaries, chunk by chunk: each is folded into the summary so far.

use std::ops::ControlFlow;

use futures_util::FutureExt;

use super::spent::Spent;
use super::terms::Terms;
use crate::engine::{Engine, EngineError, Fault, Fold, Said};
use crate::text::Tokens;

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
    /// What a model is told instead of the default.
    pub prompt: Option<&'a str>,
}

/// What is told meanwhile.
#[derive(Debug)]
pub enum FoldEvent<'a> {
    /// The chunk of this place, from 0, has its summary.
    Finished(usize),
    /// A call failed for this reason, and is made again.
    Again(&'a EngineError),
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
}

/// Why there are no summaries: without one of them there is none.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FoldFailure {
    /// The chunk of this place, from 0, has none.
    #[error("summarise part {place}: {cause}", place = .0 + 1, cause = .1)]
    Engine(usize, #[source] EngineError),
    /// Somebody broke it off.
    #[error("interrupted")]
    Interrupted,
}

/// Summarises each of `chunks`, each with the summary so far folded in; the first gets `existing` (F-04).
///
/// # Errors
/// When one of them has no summary; then there is none at all (F-09).
pub async fn fold(
    chunks: &[Vec<Said>],
    existing: &str,
    folding: &Folding<'_>,
    mut tell: impl FnMut(FoldEvent<'_>) -> ControlFlow<()>,
) -> Result<Folded, FoldFailure> {
    let mut folded = Folded::default();
    for (at, messages) in chunks.iter().enumerate() {
        let existing = folded.summaries.last().map_or(existing, String::as_str);
        let Folding { engine, limit, persona, prompt, .. } = *folding;
        let reply = engine.fold(Fold { existing, messages, limit, persona, prompt }, 1).await;
        folded.summaries.push(reply.map_err(|error| FoldFailure::Engine(at, error))?.text);
        if tell(FoldEvent::Finished(at)).is_break() {
            return Err(FoldFailure::Interrupted);
        }
    }
    Ok(folded)
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
