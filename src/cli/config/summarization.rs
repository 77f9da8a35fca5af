//! The section `[summarization]`: settings of summaries (F-10).

use std::path::PathBuf;

use anyhow::anyhow;
use serde::{Deserialize, Serialize};

use crate::session::error::CommandError;
use crate::session::options::EngineName;
use ctxc_core::plan::CompactStage;

/// The minimum size of a summary, in tokens: shorter ones are useless.
pub(crate) const LEAST_TOKENS: u64 = 16;

/// The values of the section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SummarizationConfig {
    /// The engine; the default is `chat` if the section names a server, a key or a model, else the main engine.
    pub(crate) engine: Option<EngineName>,
    /// The base URL of the server; the default is the main server.
    pub(crate) base_url: Option<String>,
    /// [`super::layer::SET`] if the key of the server is set.
    pub(crate) api_key: Option<String>,
    /// The model; the default are those of the main engine.
    pub(crate) model: Option<String>,
    /// The number of messages per summary.
    pub(crate) chunk_size: u64,
    /// The number of newest messages to keep.
    pub(crate) keep_recent: u64,
    /// The maximum size of a summary, prompts included; the default is 2 % of the context window, prompts excluded.
    pub(crate) max_summary_tokens: Option<u64>,
    /// The number of earliest summaries to show.
    pub(crate) clip_first: u32,
    /// The number of latest summaries to show.
    pub(crate) clip_last: u32,
    /// The part of the context window above which a conversation is compacted.
    pub(crate) context_budget: f64,
    /// The file with the prompt that replaces the default.
    pub(crate) prompt: Option<PathBuf>,
    /// The persona of the summarizing model.
    pub(crate) persona: String,
}

impl Default for SummarizationConfig {
    fn default() -> Self {
        Self {
            engine: None,
            base_url: None,
            api_key: None,
            model: None,
            chunk_size: 20,
            keep_recent: 5,
            max_summary_tokens: None,
            clip_first: 2,
            clip_last: 2,
            context_budget: 0.8,
            prompt: None,
            persona: String::new(),
        }
    }
}

impl SummarizationConfig {
    /// The engine, if the section determines it.
    pub(crate) fn chosen_engine(&self) -> Option<EngineName> {
        let names_server = self.base_url.is_some() || self.api_key.is_some() || self.model.is_some();
        self.engine.or_else(|| names_server.then_some(EngineName::Chat))
    }

    /// The compaction stage before the context window is known.
    pub(crate) fn compact_stage(&self) -> CompactStage {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (chunk_size, keep_recent) = (size(self.chunk_size), size(self.keep_recent));
        let Self { clip_first, clip_last, .. } = *self;
        CompactStage {
            name: "compact".to_owned(),
            chunk_size,
            keep_recent,
            clip_first,
            clip_last,
            ..CompactStage::default()
        }
    }

    /// Refuses invalid values.
    pub(super) fn validate_values(&self) -> Result<(), CommandError> {
        let refuse = |what: String| Err(CommandError::usage(anyhow!("{what}")));
        if self.chunk_size == 0 {
            return refuse("summarization.chunk_size must be at least 1".to_owned());
        }
        if let Some(tokens) = self.max_summary_tokens.filter(|tokens| *tokens < LEAST_TOKENS) {
            return refuse(format!("summarization.max_summary_tokens must be at least {LEAST_TOKENS}, not {tokens}"));
        }
        for (name, number) in [
            ("chunk_size", self.chunk_size),
            ("keep_recent", self.keep_recent),
            ("max_summary_tokens", self.max_summary_tokens.unwrap_or_default()),
        ] {
            if number > 10_000_000 {
                return refuse(format!("summarization.{name} must be at most 10000000, not {number}"));
            }
        }
        if !(self.context_budget > 0.0 && self.context_budget <= 1.0) {
            let budget = self.context_budget;
            return refuse(format!(
                "summarization.context_budget must be above 0 and at most 1, such as 0.8, not {budget}"
            ));
        }
        Ok(())
    }
}
