//! What commands need, resolved from what was typed.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::quantity::some_tokens;
use ctxc_core::apply::{ArchiveRef, Existing};
use ctxc_core::plan::CompactStage;
use ctxc_core::version::ThinkingPolicy;
use ctxc_engine::embed::EmbeddingServer;
use ctxc_engine::redact::Redactor;
use ctxc_engine::run::RunOptions;
use ctxc_engine::{Price, Prices, Prompts, chat};
use ctxc_transcript::session::Found;
use ctxc_transcript::text::Tokens;

/// What every command that rewrites a session needs.
#[derive(Clone, Debug)]
pub(crate) struct Rewriting {
    pub(crate) source: Found,
    /// The estimate that was asked for; without one it follows the purpose.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) thinking: ThinkingPolicy,
    pub(crate) output: Output,
    pub(crate) keep: Keep,
    /// Whether whole sessions may go there, where it is on a server.
    pub(crate) on_server: Consent,
    /// At how many bytes of that archive its user is warned.
    pub(crate) keep_max: Option<u64>,
    /// That archive, as what takes the place of a text names it.
    pub(crate) archive_ref: ArchiveRef,
    /// The `--archive` that a later command has to repeat, without a password.
    pub(crate) typed_archive: Option<String>,
    pub(crate) mode: Mode,
    /// The context window that was named or is configured; without it the session tells.
    pub(crate) window: Option<Tokens>,
}

impl Rewriting {
    /// With the context window that was named, if any was.
    pub(crate) fn in_window(self, named: Option<Tokens>) -> Self {
        Self { window: named.or(self.window), ..self }
    }
}

/// Where a rewritten transcript goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A new session beside the source, under this id or a fresh one.
    NewSession(Option<Uuid>),
    /// This file; ids stay.
    File(PathBuf, Existing),
    /// Standard output; ids stay.
    Stdout,
    /// The source itself, after a backup; ids stay.
    InPlace(Existing),
}

/// Where originals are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// In the archive at this URL.
    In(String),
    /// Nowhere: `--no-archive`.
    Nowhere,
}

/// Whether the work is done or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Done.
    Do,
    /// Shown: `--dry-run`.
    Show,
}

/// What shortens texts, and how it is asked.
#[derive(Clone, Debug)]
pub(crate) enum EngineChoice {
    /// What is built in.
    Extract,
    /// A model behind a server.
    Chat(Box<Asking>),
}

impl EngineChoice {
    /// Its name, as `--engine` takes it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Extract => "extract",
            Self::Chat(_) => "chat",
        }
    }
}

/// What shortens texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EngineName {
    /// A model of OpenRouter or any OpenAI-compatible server
    Chat,
    /// Built in: offline, no key, deterministic
    Extract,
}

/// When a conversation is compacted, and into what.
#[derive(Clone, Debug)]
pub(crate) struct Summaries {
    /// How each of them is made.
    pub(crate) summarizing: Summarizing,
    /// What is summarized, when, and how much of it is shown; a view shows a summary at least.
    pub(crate) stage: CompactStage,
}

impl Summaries {
    /// Whether a context of `size` is to be compacted: the one rule for the verb, for a run and for the tool of agents.
    pub(crate) fn is_called_for(&self, size: Tokens, trigger: Trigger) -> bool {
        match trigger {
            Trigger::OverBudget => size > self.budget(),
            Trigger::Always => true,
        }
    }

    /// The context has to be over this before anything is done.
    pub(crate) fn budget(&self) -> Tokens {
        Tokens(self.stage.budget_tokens.unwrap_or_default())
    }
}

/// How a conversation is compacted, before its context window is known.
#[derive(Clone, Debug)]
pub(crate) struct Compacting {
    /// What does not depend on the window.
    pub(crate) summaries: Summaries,
    /// The part of the window that the context has to be over; `None` where it is always compacted.
    pub(crate) budget: Option<Share>,
    /// The most that a summary may have; without it 2 % of the window.
    pub(crate) limit: Option<Tokens>,
}

impl Compacting {
    /// How it is compacted in a context window of `window`. 2 % of it, in steps of 1,024, are 4,096 for 200,000 (K-05).
    pub(crate) fn in_window(&self, window: Tokens) -> Summaries {
        const STEP: u64 = 1024;
        let mut summaries = self.summaries.clone();
        let limit = self.limit.unwrap_or_else(|| Tokens((window.0 / 50).div_ceil(STEP).max(1) * STEP));
        summaries.summarizing.limit = limit;
        summaries.stage.max_summary_tokens = limit.0;
        summaries.stage.budget_tokens = self.budget.map(|budget| budget.of(window.0));
        summaries
    }
}

/// A part of a whole: above 0 and up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl FromStr for Share {
    type Err = String;

    /// Reads `0.6` or `60%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<f64>().ok();
        let part = text.strip_suffix('%').map_or_else(|| number(text), |percent| Some(number(percent)? / 100.0));
        let part = part.filter(|part| *part > 0.0 && *part <= 1.0);
        part.map(Self).ok_or_else(|| "must be above 0 and at most 1, such as 0.85 or 85%".to_owned())
    }
}

impl Share {
    /// The part of `whole`, rounded to the nearest, and 1 at least.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the part is above 0 and up to 1, and no context window comes near 2^52 tokens"
    )]
    pub(crate) fn of(self, whole: u64) -> u64 {
        ((whole as f64 * self.0).round() as u64).max(1)
    }

    /// The part of this part.
    pub(crate) fn times(self, part: Self) -> Self {
        Self(self.0 * part.0)
    }
}

/// How tokens are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Estimate {
    /// Characters / 4
    Chars4,
    /// chars4, scaled to the client's own counts
    Calibrated,
}

/// A size of the context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// A part of the context window.
    Share(Share),
    /// So many tokens.
    Tokens(Tokens),
}

impl Target {
    /// The size in a context window of `window`.
    pub(crate) fn of(self, window: Tokens) -> Tokens {
        match self {
            Self::Share(share) => Tokens(share.of(window.0)),
            Self::Tokens(tokens) => tokens,
        }
    }
}

impl FromStr for Target {
    type Err = String;

    /// Reads `50%`, `60k` or `60000`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.ends_with('%') {
            return text.parse().map(Self::Share).map_err(|_: String| "must be above 0% and at most 100%".to_owned());
        }
        some_tokens(text).map(Self::Tokens)
    }
}

/// When a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Once its context is over the budget.
    OverBudget,
    /// Whatever its size: `--force`.
    Always,
}

/// How messages are summarized.
#[derive(Clone, Debug)]
pub(crate) struct Summarizing {
    /// By whom.
    pub(crate) engine: EngineChoice,
    /// The most that a summary may have.
    pub(crate) limit: Tokens,
    /// What becomes of what the person typed.
    pub(crate) prompts: Prompts,
    /// Who summarizes; may be empty.
    pub(crate) persona: String,
    /// What a model is told instead of the default.
    pub(crate) prompt: Option<String>,
}

impl Summarizing {
    /// Offline: by the built-in engine, which keeps prompts whole.
    pub(crate) fn offline() -> Self {
        let (engine, prompts, persona) = (EngineChoice::Extract, Prompts::Whole, String::new());
        Self { engine, limit: Tokens::ZERO, prompts, persona, prompt: None }
    }
}

/// How entries are found by what they mean.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) server: EmbeddingServer,
    /// What the model costs, where that is known.
    pub(crate) price: Option<Price>,
    pub(crate) consent: Consent,
    pub(crate) secrets: Secrets,
}

/// How a server is asked.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) server: chat::ChatSettings,
    pub(crate) options: RunOptions,
    pub(crate) prices: Prices,
    pub(crate) consent: Consent,
    pub(crate) secrets: Secrets,
    /// The variable that sets the key of the server.
    pub(crate) key_variable: &'static str,
}

/// What becomes of secrets in texts that leave the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Placeholders stand for them.
    Replaced,
    /// They are sent as they are: `--no-redact`.
    Sent,
}

impl Secrets {
    /// What puts placeholders in their place, where that is wanted.
    pub(crate) fn redactor(self) -> Option<Redactor> {
        match self {
            Self::Replaced => Some(Redactor::default()),
            Self::Sent => None,
        }
    }
}

/// Whether texts may be sent, or sessions stored on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// They may: `--yes`, or the user's own configuration says so.
    Given,
    /// A person at a terminal is asked.
    Ask,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_numbers_and_as_percentages() {
        for (text, of_200k) in [("0.85", 170_000), ("60%", 120_000), ("1", 200_000), ("100%", 200_000), ("0.5%", 1_000)]
        {
            assert_eq!(Share::from_str(text).unwrap().of(200_000), of_200k, "{text}");
        }
        for text in ["", "%", "0", "0%", "101%", "1.1", "-5%", "60 %", "NaN", "nan%", "inf"] {
            assert_eq!(
                Share::from_str(text),
                Err("must be above 0 and at most 1, such as 0.85 or 85%".to_owned()),
                "{text}"
            );
        }
    }

    // W-02, W-05
    #[test]
    fn w_02_targets_are_read_as_people_type_them() {
        let tokens = |n| Ok(Target::Tokens(Tokens(n)));
        assert_eq!("60k".parse(), tokens(60_000));
        assert_eq!("1234".parse(), tokens(1_234));
        assert_eq!("50%".parse(), Ok(Target::Share(Share(0.5))));
        for wrong in ["", "0", "0%", "101%", "x%", "-5", "0.5"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
