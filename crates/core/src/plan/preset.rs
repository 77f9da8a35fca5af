//! Presets: how far a session is pruned, by a word. `docs/presets.md` has what each saves.

use super::{AlsoRemoved, PruneStage, Rule};

/// How far to prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// Takes out what is superseded, and what is never read again.
    Gentle,
    /// Masks old results as well, with a digest of each.
    Standard,
    /// Masks all but the newest results, and takes out what else has been seen.
    Aggressive,
}

impl Preset {
    /// Every preset, the gentlest first.
    pub const ALL: [Self; 3] = [Self::Gentle, Self::Standard, Self::Aggressive];

    /// The name of the preset.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gentle => "gentle",
            Self::Standard => "standard",
            Self::Aggressive => "aggressive",
        }
    }

    /// The stage of the preset, with `protections`: the stage of items that are never removed.
    #[must_use]
    pub fn stage(self, protections: PruneStage) -> PruneStage {
        use AlsoRemoved::{Dead, Images, Inputs, Progress, Thinking, UiCopies};
        let (mask, digest_tokens, also): (_, _, &[AlsoRemoved]) = match self {
            Self::Gentle => (None, 0, &[UiCopies, Progress, Dead]),
            Self::Standard => (Some(15), PruneStage::DIGEST_TOKENS, &[Images, UiCopies, Progress, Dead]),
            Self::Aggressive => {
                (Some(4), PruneStage::DIGEST_TOKENS, &[Images, Inputs, Thinking, UiCopies, Progress, Dead])
            }
        };
        PruneStage {
            name: self.name().to_owned(),
            rules: Rule::ALL.to_vec(),
            mask,
            digest_tokens,
            also: also.iter().copied().collect(),
            ..protections
        }
    }
}
