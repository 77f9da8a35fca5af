//! What every OpenAI-compatible server may put into a reply: an error, and what the call took.

use serde::Deserialize;

use crate::{Usage, Usd};
use ctxc_transcript::text::Tokens;

/// An error as servers put it: an object, or its message alone.
#[derive(Debug, Deserialize)]
#[serde(from = "serde_json::Value")]
pub(crate) struct ErrorBody {
    pub(crate) message: String,
    /// A status of HTTP, where the code is one.
    pub(crate) status: Option<u16>,
}

impl From<serde_json::Value> for ErrorBody {
    fn from(value: serde_json::Value) -> Self {
        let message = value.as_str().or_else(|| value.get("message")?.as_str());
        let status = value.get("code").and_then(serde_json::Value::as_u64);
        Self {
            message: message.map_or_else(|| value.to_string(), str::to_owned),
            status: status.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)),
        }
    }
}

/// `usage` of a reply. Anything may be missing.
#[derive(Debug, Deserialize)]
pub(crate) struct UsageBody {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    cost: Option<f64>,
}

impl UsageBody {
    /// What the call took.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            input: Tokens(self.prompt_tokens.unwrap_or(0)),
            output: Tokens(self.completion_tokens.unwrap_or(0)),
            cost: self.cost.and_then(Usd::from_dollars),
        }
    }
}

/// A reply that is a failure, as far as it is looked at.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Failure {
    pub(crate) error: Option<ErrorBody>,
    pub(crate) usage: Option<UsageBody>,
}
