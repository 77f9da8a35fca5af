//! The steps of a run, in the order in which they are carried out (B-11).

/// A step of a run; each works on the result of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepKind {
    /// Removes superseded results. It is first because what it removes need not be compressed.
    Prune,
    /// Compresses the messages in bands.
    Compress,
    /// Replaces the oldest messages, compressed by then, with summaries.
    Compact,
    /// Drops the oldest messages. It is last because it meets the target whatever is left.
    Truncate,
}

impl StepKind {
    /// All steps, in the order of execution.
    pub const ALL: [Self; 4] = [Self::Prune, Self::Compress, Self::Compact, Self::Truncate];

    /// The name of the step, which is that of its command.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prune => "prune",
            Self::Compress => "compress",
            Self::Compact => "compact",
            Self::Truncate => "truncate",
        }
    }

    /// The distinct steps, in the order of execution.
    #[must_use]
    pub fn in_order(asked: &[Self]) -> Vec<Self> {
        let mut steps = asked.to_vec();
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-11, 004 TC-12
    #[test]
    fn steps_run_in_one_order() {
        let asked = [StepKind::Truncate, StepKind::Compress, StepKind::Prune, StepKind::Compact, StepKind::Compress];
        assert_eq!(
            StepKind::in_order(&asked),
            [StepKind::Prune, StepKind::Compress, StepKind::Compact, StepKind::Truncate]
        );
    }
}
