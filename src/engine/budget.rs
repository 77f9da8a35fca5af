//! A limit of costs: no call starts that could pass it (G-02).

use serde::Serialize;

use super::Usd;

/// What has been spent, what may still come of the calls under way, and the limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    limit: Option<Usd>,
    spent: Usd,
    reserved: Usd,
}

/// What is put aside for a call under way: the most that it may cost.
#[derive(Debug)]
#[must_use = "what is put aside has to be settled"]
pub struct Reservation(Usd);

/// A call that could pass the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("start another call: it could cost {call}, and {left} of {limit} are left")]
pub struct OverBudget {
    /// The most that the call may cost.
    pub call: Usd,
    /// What is left of the limit when all calls under way cost their most.
    pub left: Usd,
    /// The limit.
    pub limit: Usd,
}

impl Budget {
    /// A budget with this limit; without one it only counts.
    #[must_use]
    pub const fn new(limit: Option<Usd>) -> Self {
        Self { limit, spent: Usd::ZERO, reserved: Usd::ZERO }
    }

    /// Puts aside the most that a call may cost, before it starts.
    ///
    /// # Errors
    /// When the sum could pass the limit; the call must not start.
    pub fn reserve(&mut self, most: Usd) -> Result<Reservation, OverBudget> {
        if let Some(limit) = self.limit {
            let left = limit.saturating_sub(self.spent + self.reserved);
            if most > left {
                return Err(OverBudget { call: most, left, limit });
            }
        }
        self.reserved += most;
        Ok(Reservation(most))
    }

    /// Takes what a call did cost. Without a measure, as after a timeout, it is taken to have cost its most: the server may
    /// have worked on and charge it.
    #[expect(clippy::needless_pass_by_value, reason = "a reservation is used up")]
    pub fn settle(&mut self, reservation: Reservation, measured: Option<Usd>) {
        self.reserved = self.reserved.saturating_sub(reservation.0);
        self.spent += measured.unwrap_or(reservation.0);
    }

    /// Gives back what was put aside for a call that was refused before any work, as with 401 or 429.
    #[expect(clippy::needless_pass_by_value, reason = "a reservation is used up")]
    pub fn release(&mut self, reservation: Reservation) {
        self.reserved = self.reserved.saturating_sub(reservation.0);
    }

    /// What has been spent.
    #[must_use]
    pub const fn spent(&self) -> Usd {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    // G-02
    #[test]
    fn no_call_starts_that_could_pass_the_limit() {
        let mut budget = Budget::new(Some(usd("0.10")));
        let first = budget.reserve(usd("0.06")).unwrap();
        let error = budget.reserve(usd("0.05")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "start another call: it could cost 0.0500 USD, and 0.0400 USD of 0.1000 USD are left"
        );
        budget.settle(first, Some(usd("0.02")));
        let second = budget.reserve(usd("0.05")).unwrap();
        budget.settle(second, None);
        assert_eq!(budget.spent(), usd("0.07"));
        let third = budget.reserve(usd("0.03")).unwrap();
        budget.release(third);
        assert_eq!(budget.spent(), usd("0.07"));
    }

    // G-02: a limit of nothing allows what is free.
    #[test]
    fn a_limit_of_zero_allows_only_what_is_free() {
        let mut budget = Budget::new(Some(Usd::ZERO));
        assert!(budget.reserve(usd("0.000001")).is_err());
        let free = budget.reserve(Usd::ZERO).unwrap();
        budget.settle(free, None);
        assert_eq!(budget.spent(), Usd::ZERO);
        assert!(Budget::new(None).reserve(usd("1000")).is_ok());
    }

    proptest! {
        // G-02: whatever calls cost below their most, the sum stays within the limit.
        #[test]
        fn the_sum_never_passes_the_limit(
            limit in 0_u32..2000,
            calls in prop::collection::vec((1_u32..500, 0_u32..=100, prop::bool::ANY), 0..40),
        ) {
            let sum = |millis: u32| Usd::from_dollars(f64::from(millis) / 1000.0).unwrap();
            let mut budget = Budget::new(Some(sum(limit)));
            let mut under_way = Vec::new();
            for (most, percent, waits) in calls {
                if let Ok(reservation) = budget.reserve(sum(most)) {
                    under_way.push((reservation, sum(most * percent / 100)));
                }
                if !waits && let Some((reservation, cost)) = under_way.pop() {
                    budget.settle(reservation, Some(cost));
                }
            }
            for (reservation, cost) in under_way {
                budget.settle(reservation, Some(cost));
            }
            assert!(budget.spent() <= sum(limit));
        }
    }
}
