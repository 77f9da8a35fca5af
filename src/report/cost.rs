//! The cost and saving of an operation, as the archive records them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::CallsReport;
use ctxc_store::Operation;

/// The cost and saving that an operation records in the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OperationCost {
    /// The context before, scaled to the counts of the client.
    pub(crate) tokens_before: u64,
    /// The context after.
    pub(crate) tokens_after: u64,
    /// Tokens of the API for one of `chars4`; 0 where it was not noted.
    pub(crate) factor: f64,
    /// Tokens that were re-cached.
    pub(crate) tokens_recached: u64,
    /// Calls to a server.
    pub(crate) calls: u64,
    /// Their cost in US dollars, as far as it is known.
    pub(crate) cost_usd: f64,
    /// The number of calls of unknown cost.
    pub(crate) unpriced_calls: u64,
}

impl OperationCost {
    /// The figures that `operation` recorded; `None` if there are none or they are unreadable.
    pub(crate) fn of(operation: &Operation) -> Option<Self> {
        serde_json::from_str(operation.report.as_deref()?).ok()
    }

    /// The cost of requests to servers, without any saving.
    pub(crate) fn of_calls<'a>(calls: impl IntoIterator<Item = &'a CallsReport>) -> Self {
        calls.into_iter().fold(Self::default(), |sum, calls| Self {
            calls: sum.calls + calls.calls,
            cost_usd: sum.cost_usd + calls.cost.dollars(),
            unpriced_calls: sum.unpriced_calls + calls.unpriced_calls,
            ..sum
        })
    }
}
