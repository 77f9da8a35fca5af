//! What verbs that summarise are told of their summaries.

use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::engine::EngineArgs;
use super::share::{Share, share};
use crate::cli::config::{Config, LEAST_SUMMARY_TOKENS};
use crate::cli::error::CommandError;
use crate::cli::places::Environment;
use crate::cli::settings::{EngineChoice, Summaries, Summarizing};
use crate::text::Tokens;

/// When a conversation is compacted, and into what.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Summaries")]
pub(crate) struct SummarizingArgs {
    /// Compact once the context fills this part of the window, above 0 and up to 1 [default: 0.8]
    #[arg(long, value_name = "PART", value_parser = share)]
    context_budget: Option<Share>,
    /// Take the context window for one of N tokens [default: 200000]
    #[arg(long, value_name = "N")]
    context_window: Option<NonZeroU64>,
    /// Keep the newest N messages as they are [default: 5]
    #[arg(long, value_name = "N")]
    keep_recent: Option<u64>,
    /// Summarise N messages at a time [default: 20]
    #[arg(long, value_name = "N")]
    chunk_size: Option<NonZeroU64>,
    /// Let a summary have N tokens at most [default: 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(LEAST_SUMMARY_TOKENS..))]
    max_summary_tokens: Option<u64>,
    /// Show the earliest N summaries [default: 2]
    #[arg(long, value_name = "N")]
    clip_first: Option<u32>,
    /// Show the latest N summaries [default: 2]
    #[arg(long, value_name = "N")]
    clip_last: Option<u32>,
    #[command(flatten)]
    wording: WordingArgs,
}

/// What a model that summarises is told.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Summaries")]
pub(crate) struct WordingArgs {
    /// Tell the model what FILE says, with {persona}, {existing_summary} and {messages} filled in
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// Tell the model in whose name it summarises
    #[arg(long, value_name = "TEXT")]
    persona: Option<String>,
}

impl SummarizingArgs {
    /// The size of the context window: what was asked for, else what is configured.
    #[cfg(feature = "mcp")]
    pub(crate) fn window(&self, environment: &Environment) -> Tokens {
        Tokens(self.context_window.map_or(environment.config.context_window, NonZeroU64::get))
    }

    /// What was asked for, else what is configured, with the engine that `engine` and `[summarization]` name.
    pub(crate) fn resolve(self, engine: EngineArgs, environment: &Environment) -> Result<Summaries, CommandError> {
        let Config { summarization: configured, context_window, .. } = &environment.config;
        let limit = Tokens(self.max_summary_tokens.unwrap_or(configured.max_summary_tokens));
        let chunk_size = self.chunk_size.map_or(configured.chunk_size, NonZeroU64::get);
        let window = self.context_window.map_or(*context_window, NonZeroU64::get);
        let budget = self.context_budget.unwrap_or(Share(configured.context_budget));
        let (clip_first, clip_last) =
            (self.clip_first.unwrap_or(configured.clip_first), self.clip_last.unwrap_or(configured.clip_last));
        if clip_first == 0 && clip_last == 0 {
            return Err(CommandError::usage(anyhow!("show no summary at all"))
                .hint("give --clip-first or --clip-last a number above 0"));
        }
        Ok(Summaries {
            summarizing: self.wording.resolve(engine, limit, environment)?,
            chunk_size: to_size(chunk_size).try_into().unwrap_or(NonZeroUsize::MIN),
            keep_recent: to_size(self.keep_recent.unwrap_or(configured.keep_recent)),
            clip_first,
            clip_last,
            budget: Tokens(budget.of(window)),
        })
    }
}

impl WordingArgs {
    /// How summaries of at most `limit` are made: by the engine that `engine` and `[summarization]` name, in the words
    /// that were asked for or are configured.
    pub(crate) fn resolve(
        self,
        engine: EngineArgs,
        limit: Tokens,
        environment: &Environment,
    ) -> Result<Summarizing, CommandError> {
        let configured = &environment.config.summarization;
        let engine = engine.resolve(&environment.for_summarizing())?;
        let prompt = match &engine {
            // It is told nothing.
            EngineChoice::Extract => None,
            EngineChoice::Chat(_) => self.prompt.as_ref().or(configured.prompt.as_ref()).map(|path| read(path)),
        };
        let persona = self.persona.unwrap_or_else(|| configured.persona.clone());
        Ok(Summarizing { engine, limit, persona, prompt: prompt.transpose()? })
    }
}

/// The prompt in the file at `path`.
fn read(path: &Path) -> Result<String, CommandError> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("read the prompt {}", path.display()))
        .map_err(CommandError::config)?;
    if text.contains("{messages}") {
        return Ok(text);
    }
    Err(CommandError::config(anyhow!("take {} for a prompt: it has no {{messages}}", path.display()))
        .hint("write {messages} where the messages are to stand, {existing_summary} for the summary so far"))
}

fn to_size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
