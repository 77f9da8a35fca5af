//! How a run goes about its calls, and how it ends.

use std::num::NonZeroU32;

use super::retry::Timeouts;
use crate::{EngineError, Usd};

/// How a run goes about its calls.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The most calls under way at a time.
    pub concurrency: usize,
    /// The most calls for one text.
    pub attempts: u32,
    /// How long a call may take; without them as long as it likes.
    pub timeouts: Option<Timeouts>,
    /// The most calls in a minute.
    pub rpm: Option<NonZeroU32>,
    /// The most that all calls together may cost.
    pub max_cost: Option<Usd>,
    /// Which text is asked for first.
    pub order: Order,
}

/// Which text is asked for first. The order of the results does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first session.
    AsGiven,
    /// The longest, so that no long call is left over at the end.
    LongestFirst,
}

impl RunOptions {
    /// For an engine that answers at once: one after the other, each once.
    pub const AT_ONCE: Self =
        Self { concurrency: 1, attempts: 1, timeouts: None, rpm: None, max_cost: None, order: Order::AsGiven };
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Every task has its outcome.
    Done,
    /// No call could be made that would not have passed the cap on the cost.
    OverBudget,
    /// The server wants nothing of it, for this reason: the key, the credit, the address.
    Refused(EngineError),
    /// Too many texts in a row had no reply, the last for this reason.
    GaveUp(EngineError),
    /// Somebody broke it off.
    Interrupted,
}
