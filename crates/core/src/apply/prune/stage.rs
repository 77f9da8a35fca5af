//! A stage of a run, as what prunes takes it.

use crate::apply::follow::bounds::ThinkingReach;
use crate::plan::{ExtraRemoval, GlobError, Preset, Protections, PruneStage};
use ctxc_transcript::text::Tokens;

/// The least that masks and presets save by a cut, in tokens: less is not worth what it hides (K-04).
pub(in crate::apply) const LEAST_SAVED: Tokens = Tokens(30);

/// The selection of a stage, with what it protects.
#[derive(Clone, Debug)]
pub struct PruneSelection {
    pub(super) stage: PruneStage,
    pub(super) protected: Protections,
}

impl PruneSelection {
    /// The pruning of `stage`.
    ///
    /// # Errors
    /// When it names a pattern of files that cannot be read.
    pub fn from_stage(stage: PruneStage) -> Result<Self, GlobError> {
        let protected = Protections::new(stage.protected_tools.iter().cloned(), &stage.protected_files)?;
        Ok(Self { stage, protected })
    }

    /// The reach of its removal of thinking.
    #[must_use]
    pub fn thinking_reach(&self) -> ThinkingReach {
        let takes_thinking = self.stage.also.contains(&ExtraRemoval::Thinking);
        if takes_thinking { ThinkingReach::Everywhere } else { ThinkingReach::BehindChange }
    }

    /// The least that a rule has to save by a cut.
    pub(super) fn least_saved(&self) -> Tokens {
        let name = &self.stage.name;
        let is_preset = name == PruneStage::FIT || Preset::ALL.iter().any(|preset| preset.name() == name);
        if is_preset { LEAST_SAVED } else { Tokens::ZERO }
    }
}
