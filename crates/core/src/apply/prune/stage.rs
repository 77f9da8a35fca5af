//! A stage of a run, as what prunes takes it.

use crate::apply::follow::thinking::ThinkingReach;
use crate::apply::prune::rules::{Extra, LEAST_SAVED, Mask, Pruning};
use crate::plan::{BadGlob, NotARule, Preset, Protected, PruneStage, Rule};
use ctxc_transcript::text::Tokens;

/// The name of removing all thinking, among what else goes.
const THINKING: &str = "thinking";

/// A stage that says what is not so.
#[derive(Debug, thiserror::Error)]
pub enum BadStage {
    /// A rule that there is not.
    #[error(transparent)]
    Rule(#[from] NotARule),
    /// A pattern of files that cannot be read.
    #[error(transparent)]
    Glob(#[from] BadGlob),
    /// Something else that cannot go.
    #[error("use `{0}`: the choices are images, inputs, thinking, ui-copies, progress and dead")]
    Extra(String),
}

/// The pruning of `stage`, and the reach of its removal of thinking.
///
/// # Errors
/// When it names a rule or a thing that there is not, or a pattern that cannot be read.
pub fn pruning(stage: &PruneStage) -> Result<(Pruning, ThinkingReach), BadStage> {
    let rules: Result<Vec<Rule>, NotARule> = stage.rules.iter().map(|rule| rule.parse()).collect();
    let extra = |name: &&String| {
        let extra = Extra::ALL.into_iter().find(|extra| extra.name() == name.as_str());
        extra.ok_or_else(|| BadStage::Extra((*name).clone()))
    };
    let extras = stage.also.iter().filter(|name| *name != THINKING);
    let is_preset = stage.name == PruneStage::FIT || Preset::ALL.iter().any(|preset| preset.name() == stage.name);
    let pruning = Pruning {
        least_saved: if is_preset { LEAST_SAVED } else { Tokens::ZERO },
        rules: rules?,
        protect_steps: stage.protect_steps,
        protect_turns: stage.protect_turns,
        protected: Protected::new(stage.protected_tools.iter().cloned(), &stage.protected_files)?,
        mask: stage.mask.map(|steps| Mask { steps, digest: Tokens(stage.digest_tokens) }),
        extras: extras.map(|name| extra(&name)).collect::<Result<_, _>>()?,
        only: stage.cut.as_ref().map(|cut| cut.iter().map(|cut| cut.item.clone()).collect()),
    };
    let takes_thinking = stage.also.iter().any(|name| name == THINKING);
    Ok((pruning, if takes_thinking { ThinkingReach::Everywhere } else { ThinkingReach::BehindChange }))
}
