//! The stages of a run: verbs with all that they need to know, one after the other (B-11, U-09).
//!
//! Stages are data, so that a plan can be written down, read by a person, changed, and carried out.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Bands, Roles, Rule, Step};

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Stage {
    /// Cuts tool results that are superseded or old, and what else is not needed.
    Prune(PruneStage),
    /// Shortens the messages of bands of turns.
    Compress(CompressStage),
    /// Puts summaries in the place of the oldest messages.
    Compact(CompactStage),
    /// Drops the oldest messages.
    Truncate(TruncateStage),
}

/// A stage that prunes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PruneStage {
    /// The name of the stage.
    pub name: String,
    /// The rules that calls are superseded by.
    pub rules: Vec<Rule>,
    /// How many of the newest steps keep their results; without a number no result is masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<u32>,
    /// How many tokens the digest of a masked result has at most.
    pub digest_tokens: u64,
    /// The newest steps that are left alone.
    pub protect_steps: u32,
    /// The newest turns that are left alone.
    pub protect_turns: u32,
    /// Tools whose results are never cut.
    pub protected_tools: Vec<String>,
    /// Files whose reads and edits are never cut.
    pub protected_files: Vec<String>,
    /// What else goes.
    pub also: BTreeSet<AlsoRemoved>,
    /// The results that may be cut; all without a list.
    #[serde(skip_serializing)]
    pub cut: Option<Vec<PlannedCut>>,
}

impl PruneStage {
    /// The name of the stage that removes results one by one, up to a target.
    pub const FIT: &'static str = "fit";
    /// The most tokens of the digest of a result, unless a plan says otherwise.
    pub const DIGEST_TOKENS: u64 = 100;
}

/// What a stage removes besides tool results, by the names that a plan has, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlsoRemoved {
    /// Entries off the live chain.
    Dead,
    /// Images.
    Images,
    /// The long strings among the parameters of calls whose results are removed.
    Inputs,
    /// Signs of life of tools and subagents.
    Progress,
    /// Thinking.
    Thinking,
    /// The client's copies of results.
    UiCopies,
}

impl AlsoRemoved {
    /// The name in plans and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Images => "images",
            Self::Inputs => "inputs",
            Self::Progress => "progress",
            Self::Thinking => "thinking",
            Self::UiCopies => "ui-copies",
        }
    }
}

/// A stage that compresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompressStage {
    /// The name of the stage.
    pub name: String,
    /// The bands.
    pub bands: Bands,
    /// Whose messages alone are compressed.
    #[serde(skip_serializing_if = "Roles::are_both")]
    pub only: Roles,
    /// Whether the text of tool results is compressed too.
    pub tool_results: bool,
    /// Texts of fewer tokens are left alone.
    pub min_tokens: u64,
    /// The newest turns that are left alone.
    pub protect_turns: u32,
    /// The texts that may be compressed; all without a list.
    #[serde(skip_serializing)]
    pub texts: Option<Vec<PlannedText>>,
}

/// A stage that compacts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompactStage {
    /// The name of the stage.
    pub name: String,
    /// The context has to be over this, in tokens; without a number it is compacted whatever its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// How many of the newest messages stay as they are.
    pub keep_recent: usize,
    /// How many messages are summarized at a time.
    pub chunk_size: usize,
    /// The most that a summary may have, in `chars4` tokens.
    pub max_summary_tokens: u64,
    /// The most that all of what takes their place may have, in `chars4` tokens: lines that are likely to be needed take what
    /// the summaries leave. Without a number, these lines take a share of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_view_tokens: Option<u64>,
    /// How many of the earliest summaries are shown.
    pub clip_first: u32,
    /// How many of the latest.
    pub clip_last: u32,
}

/// A stage that truncates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TruncateStage {
    /// The name of the stage.
    pub name: String,
    /// What the context comes below, in tokens.
    pub target_tokens: u64,
}

/// A tool result in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCut {
    /// Its handle.
    pub item: String,
}

/// A text in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedText {
    /// The line of the entry.
    pub line: u32,
    /// The position of the tool result in the entry; omitted for other texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<usize>,
    /// The size that it shall come down to, in `chars4` tokens.
    pub target: u64,
}

impl Stage {
    /// Which step it is.
    #[must_use]
    pub const fn step(&self) -> Step {
        match self {
            Self::Prune(_) => Step::Prune,
            Self::Compress(_) => Step::Compress,
            Self::Compact(_) => Step::Compact,
            Self::Truncate(_) => Step::Truncate,
        }
    }

    /// The name of the stage.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Prune(stage) => &stage.name,
            Self::Compress(stage) => &stage.name,
            Self::Compact(stage) => &stage.name,
            Self::Truncate(stage) => &stage.name,
        }
    }
}
