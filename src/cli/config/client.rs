//! The section `[client]`: the behavior of ctxc inside Claude Code (C-02).

use anyhow::anyhow;
use serde::{Deserialize, Serialize};

use crate::session::error::CommandError;
use crate::session::options::Fraction;

/// The values of the section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClientConfig {
    /// The part of the context window that a compaction in the client may leave in use.
    pub(crate) target: f64,
    /// The part of the context window at which a conversation is compacted automatically (C-05); `None` for never.
    pub(crate) auto: Option<String>,
    /// Whether sessions of the client are stored when they end.
    pub(crate) keep: bool,
    /// Instructions for each compaction in the client, like those typed after `/compact`.
    pub(crate) instructions: Vec<String>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self { target: 0.5, auto: None, keep: true, instructions: Vec::new() }
    }
}

impl ClientConfig {
    pub(super) fn validate_values(&self) -> Result<(), CommandError> {
        if !(self.target > 0.0 && self.target <= 1.0) {
            return Err(CommandError::usage(anyhow!(
                "client.target must be above 0 and at most 1, not {}",
                self.target
            )));
        }
        self.auto_threshold().map(drop)
    }

    /// The part of the context window at which a conversation is compacted automatically.
    ///
    /// # Errors
    /// When the value is not a part.
    pub(crate) fn auto_threshold(&self) -> Result<Option<Fraction>, CommandError> {
        let auto = self.auto.as_deref().map(str::parse).transpose();
        auto.map_err(|error: String| CommandError::usage(anyhow!("client.auto {error}")))
    }
}
