//! The section `[client]`: what ctxc does inside Claude Code (C-02).

use anyhow::anyhow;
use serde::{Deserialize, Serialize};

use crate::session::error::CommandError;
use crate::session::options::Share;

/// The values of the section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Client {
    /// The part of the context window that a compaction in the client may leave in use.
    pub(crate) target: f64,
    /// The part of the context window from which on a conversation is compacted unasked (C-05); nothing for never.
    pub(crate) auto: Option<String>,
    /// Whether the sessions of the client are kept when they end.
    pub(crate) keep: bool,
    /// What each compaction in the client follows, like what is typed after `/compact`.
    pub(crate) instructions: Vec<String>,
}

impl Default for Client {
    fn default() -> Self {
        Self { target: 0.5, auto: None, keep: true, instructions: Vec::new() }
    }
}

impl Client {
    pub(super) fn validate(&self) -> Result<(), CommandError> {
        if !(self.target > 0.0 && self.target <= 1.0) {
            return Err(CommandError::usage(anyhow!(
                "client.target must be above 0 and at most 1, not {}",
                self.target
            )));
        }
        self.auto().map(drop)
    }

    /// The part of the context window from which on a conversation is compacted unasked.
    ///
    /// # Errors
    /// When it is no part.
    pub(crate) fn auto(&self) -> Result<Option<Share>, CommandError> {
        let auto = self.auto.as_deref().map(str::parse).transpose();
        auto.map_err(|error: String| CommandError::usage(anyhow!("client.auto {error}")))
    }
}
