//! Parts common to the responses of all OpenAI-compatible servers: error and usage.

use serde::Deserialize;

use crate::{Usage, Usd};
use ctxc_transcript::text::Tokens;

/// An error as servers report it: an object, or its message alone.
#[derive(Debug, Deserialize)]
#[serde(from = "serde_json::Value")]
pub(crate) struct ErrorBody {
    pub(crate) message: String,
    /// The error's code, if it is an HTTP status of 400 to 599.
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

/// The `usage` of a response. Missing and malformed counts are zero, so that a reply that was paid for is not discarded
/// because of them.
#[derive(Debug, Deserialize)]
#[serde(from = "serde_json::Value")]
pub(crate) struct UsageBody(pub(crate) Usage);

impl From<serde_json::Value> for UsageBody {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` goes to the nearest count, and nobody has sent fewer tokens than none"
    )]
    fn from(value: serde_json::Value) -> Self {
        let tokens = |key: &str| {
            let count = value.get(key)?;
            count.as_u64().or_else(|| count.as_f64().map(|count| count.ceil() as u64))
        };
        Self(Usage {
            input: Tokens(tokens("prompt_tokens").unwrap_or(0)),
            output: Tokens(tokens("completion_tokens").unwrap_or(0)),
            cost: value.get("cost").and_then(serde_json::Value::as_f64).and_then(Usd::from_dollars),
        })
    }
}

/// The parts of an error response that are read.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FailureBody {
    pub(crate) error: Option<ErrorBody>,
    pub(crate) usage: Option<UsageBody>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-03
    #[test]
    fn r_03_a_usage_with_figures_that_are_no_counts_is_read_as_far_as_it_is_one() {
        let of = |text: &str| {
            let Usage { input, output, cost } = serde_json::from_str::<UsageBody>(text).unwrap().0;
            (input.0, output.0, cost)
        };
        assert_eq!(
            of(r#"{"prompt_tokens": 12.0, "completion_tokens": 7, "cost": 0.5}"#),
            (12, 7, Usd::from_dollars(0.5))
        );
        assert_eq!(of(r#"{"prompt_tokens": -3, "completion_tokens": "many", "cost": null}"#), (0, 0, None));
        assert_eq!(of("[]"), (0, 0, None));
    }
}
