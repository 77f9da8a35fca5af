//! The steps of a run, in the order in which they are carried out (B-11).

/// One step of a run: each works on what the one before left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Takes out what is superseded. First, for what it takes need not be compressed.
    Prune,
    /// Shortens the messages of bands.
    Compress,
    /// Replaces the oldest messages by summaries, of what is short by then.
    Compact,
    /// Drops the oldest messages. Last, for it meets the target whatever is left.
    Truncate,
}

impl Step {
    /// The name of the step, as that of its verb.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prune => "prune",
            Self::Compress => "compress",
            Self::Compact => "compact",
            Self::Truncate => "truncate",
        }
    }

    /// The steps in their order, whatever order they were asked for in; each once.
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
        let asked = [Step::Truncate, Step::Compress, Step::Prune, Step::Compact, Step::Compress];
        assert_eq!(Step::in_order(&asked), [Step::Prune, Step::Compress, Step::Compact, Step::Truncate]);
    }
}
