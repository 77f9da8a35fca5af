//! What a task has taken so far: calls, time, tokens and money.

use std::iter::Sum;
use std::ops::AddAssign;
use std::time::Duration;

use crate::{EngineError, Fault, Price, Usage, Usd};
use ctxc_transcript::text::Tokens;

/// The tokens, time and cost of a task, as far as the server reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The number of calls.
    pub calls: u32,
    /// How long they took together.
    pub time: Duration,
    /// Tokens that the model read.
    pub input: Tokens,
    /// Tokens that it wrote.
    pub output: Tokens,
    /// What that cost.
    pub cost: Usd,
    /// What calls without a measure may have cost beside it, at most.
    pub may_cost: Usd,
    /// Calls that cost something nobody can say how much.
    pub unpriced_calls: u32,
}

/// What a call takes from a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charge {
    /// So much.
    Measured(Usd),
    /// Nobody can say how much.
    Unknown,
    /// Nothing: it was refused before any work.
    Nothing,
}

impl Spent {
    /// Adds a call that took `time` and may have cost `most`, of a model with this price: what its reply says that it took,
    /// or why there is none.
    pub(super) fn add_call(
        &mut self,
        result: Result<Option<Usage>, &EngineError>,
        time: Duration,
        most: Usd,
        price: Option<Price>,
    ) -> Charge {
        self.time += time;
        if let Some(usage) = result.unwrap_or_else(|error| error.usage) {
            self.input += usage.input;
            self.output += usage.output;
            let Some(cost) = usage.cost.or_else(|| Some(price?.cost(usage.input, usage.output))) else {
                self.unpriced_calls += 1;
                return Charge::Unknown;
            };
            self.cost += cost;
            return Charge::Measured(cost);
        }
        let is_counted = match result {
            Ok(_) => true,
            Err(error) => matches!(
                error.fault,
                Fault::Timeout | Fault::Broken | Fault::BadReply | Fault::Blank | Fault::Poor(_) | Fault::PoorTwice(_)
            ),
        };
        if !is_counted {
            return Charge::Nothing;
        }
        self.unpriced_calls += u32::from(price.is_none());
        self.may_cost += most;
        Charge::Unknown
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.time += other.time;
        self.input += other.input;
        self.output += other.output;
        self.cost += other.cost;
        self.may_cost += other.may_cost;
        self.unpriced_calls += other.unpriced_calls;
    }
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, spent| {
            sum += spent;
            sum
        })
    }
}
