//! A stage of a run, as what prunes takes it.

use crate::apply::follow::bounds::ThinkingReach;
use crate::apply::prune::rules::{Extra, LEAST_SAVED, Mask, Pruning};
use crate::plan::{AlsoRemoved, BadGlob, Preset, Protected, PruneStage};
use ctxc_transcript::text::Tokens;

/// The pruning of `stage`, and the reach of its removal of thinking.
///
/// # Errors
/// When it names a pattern of files that cannot be read.
pub fn pruning(stage: &PruneStage) -> Result<(Pruning, ThinkingReach), BadGlob> {
    let extra = |also: &AlsoRemoved| match also {
        AlsoRemoved::Images => Some(Extra::Images),
        AlsoRemoved::Inputs => Some(Extra::Inputs),
        AlsoRemoved::UiCopies => Some(Extra::UiCopies),
        AlsoRemoved::Progress => Some(Extra::Progress),
        AlsoRemoved::Dead => Some(Extra::Dead),
        AlsoRemoved::Thinking => None,
    };
    let is_preset = stage.name == PruneStage::FIT || Preset::ALL.iter().any(|preset| preset.name() == stage.name);
    let pruning = Pruning {
        least_saved: if is_preset { LEAST_SAVED } else { Tokens::ZERO },
        rules: stage.rules.clone(),
        protect_steps: stage.protect_steps,
        protect_turns: stage.protect_turns,
        protected: Protected::new(stage.protected_tools.iter().cloned(), &stage.protected_files)?,
        mask: stage.mask.map(|steps| Mask { steps, digest: Tokens(stage.digest_tokens) }),
        extras: stage.also.iter().filter_map(extra).collect(),
        only: stage.cut.as_ref().map(|cut| cut.iter().map(|cut| cut.item.clone()).collect()),
    };
    let takes_thinking = stage.also.contains(&AlsoRemoved::Thinking);
    Ok((pruning, if takes_thinking { ThinkingReach::Everywhere } else { ThinkingReach::BehindChange }))
}
