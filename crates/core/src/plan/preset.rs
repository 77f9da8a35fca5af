//! Presets: named degrees of pruning. `docs/presets.md` shows the savings of each.

use super::{ExtraRemoval, PruneStage, SupersedeRule};

/// A named degree of pruning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// Removes superseded results, and content that the model never sees.
    Gentle,
    /// Also masks old results, with a digest of each, and removes images.
    Standard,
    /// Masks all but the newest results, and also removes long inputs and thinking.
    Aggressive,
}

impl Preset {
    /// All presets, mildest first.
    pub const ALL: [Self; 3] = [Self::Gentle, Self::Standard, Self::Aggressive];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gentle => "gentle",
            Self::Standard => "standard",
            Self::Aggressive => "aggressive",
        }
    }

    /// The stage of the preset, with the protections of the stage `protections`.
    #[must_use]
    pub fn prune_stage(self, protections: PruneStage) -> PruneStage {
        use ExtraRemoval::{Dead, Images, Inputs, Progress, Thinking, UiCopies};
        let (mask, digest_tokens, also): (_, _, &[ExtraRemoval]) = match self {
            Self::Gentle => (None, 0, &[UiCopies, Progress, Dead]),
            Self::Standard => (Some(15), PruneStage::DIGEST_TOKENS, &[Images, UiCopies, Progress, Dead]),
            Self::Aggressive => {
                (Some(4), PruneStage::DIGEST_TOKENS, &[Images, Inputs, Thinking, UiCopies, Progress, Dead])
            }
        };
        PruneStage {
            name: self.name().to_owned(),
            rules: SupersedeRule::ALL.to_vec(),
            mask,
            digest_tokens,
            also: also.iter().copied().collect(),
            ..protections
        }
    }
}
