//! Presets: how far a session is pruned, by a word. `docs/presets.md` has what each saves.

use super::{PruneStage, Rule};

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
        let (mask, digest_tokens, also): (_, _, &[&str]) = match self {
            Self::Gentle => (None, 0, &["ui-copies", "progress", "dead"]),
            Self::Standard => (Some(15), 40, &["images", "ui-copies", "progress", "dead"]),
            Self::Aggressive => (Some(4), 40, &["images", "inputs", "thinking", "ui-copies", "progress", "dead"]),
        };
        PruneStage {
            name: self.name().to_owned(),
            rules: Rule::ALL.map(|rule| rule.name().to_owned()).to_vec(),
            mask,
            digest_tokens,
            also: also.iter().map(|what| (*what).to_owned()).collect(),
            ..protections
        }
    }
}
