//! Summaries of messages through the engine that was chosen.

use std::ops::ControlFlow;

use anyhow::anyhow;

use super::error::CommandError;
use super::settings::{EngineChoice, Keep, Summarizing};
use super::ui::Ui;
use crate::engine::{Extract, Said};
use crate::run::{FoldFailure, Folded, Folding, Terms, fold_at_once};
use crate::text::Stopped;

/// Summarises each of `chunks`, each with the summary so far folded in; the first gets `existing`. Results are cached
/// where originals are kept, as of `session`.
///
/// # Errors
/// When one of them has no summary; then there is none at all.
pub(super) fn fold(
    chunks: &[Vec<Said>],
    existing: &str,
    how: &Summarizing,
    keep: &Keep,
    session: Option<&str>,
    ui: &Ui,
) -> Result<Folded, CommandError> {
    let _ = (keep, session);
    match &how.engine {
        EngineChoice::Extract => {
            let folding = Folding {
                engine: &Extract,
                terms: &Terms::AT_ONCE,
                limit: how.limit,
                persona: &how.persona,
                prompt: how.prompt.as_deref(),
            };
            let tell = |_: crate::run::FoldEvent<'_>| match Stopped::check(ui.stop()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            fold_at_once(chunks, existing, &folding, tell).map_err(|failure| match failure {
                FoldFailure::Interrupted => CommandError::interrupted(),
                failure @ FoldFailure::Engine(..) => CommandError::from(anyhow::Error::new(failure)),
            })
        }
        EngineChoice::Chat(_) => Err(CommandError::config(anyhow!("summarise by the engine chat"))),
    }
}
