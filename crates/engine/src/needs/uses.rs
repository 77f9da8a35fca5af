//! The occurrences of a fact, and the features that follow from them.

use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::language::Shape;

/// The occurrences of a fact in a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>", into = "Vec<u32>")]
pub struct Uses {
    /// The first and the last message, counted from 0.
    first: u32,
    last: u32,
    n_messages: u32,
    /// The number of lines, by [`Source`].
    lines: [u32; Source::ALL.len()],
    /// The facts in all these lines, the fact itself included.
    n_beside: u32,
}

impl From<Uses> for Vec<u32> {
    fn from(Uses { first, last, n_messages, lines, n_beside }: Uses) -> Self {
        [first, last, n_messages, n_beside].into_iter().chain(lines).collect()
    }
}

impl From<Vec<u32>> for Uses {
    fn from(counts: Vec<u32>) -> Self {
        // Counts that were stored before there was a source end earlier.
        let mut counts = counts.into_iter();
        let mut next = || counts.next().unwrap_or_default();
        let [first, last, n_messages, n_beside] = std::array::from_fn(|_| next());
        Self { first, last, n_messages, lines: std::array::from_fn(|_| next()), n_beside }
    }
}

impl Uses {
    /// Counts a line of message `at` with `n_facts` facts.
    pub(super) fn count(&mut self, at: u32, source: Source, n_facts: u32) {
        if self.n_messages == 0 {
            self.first = at;
        }
        if self.n_messages == 0 || self.last != at {
            self.n_messages += 1;
        }
        self.last = at;
        if let Some(n_lines) = self.lines.get_mut(source as usize) {
            *n_lines += 1;
        }
        self.n_beside += n_facts;
    }

    /// Adds the uses in messages that follow the first `offset`.
    pub(super) fn merge(&mut self, later: Self, offset: u32) {
        if self.n_messages == 0 {
            self.first = later.first + offset;
        }
        self.last = later.last + offset;
        self.n_messages += later.n_messages;
        self.n_beside += later.n_beside;
        for (n_lines, more) in self.lines.iter_mut().zip(later.lines) {
            *n_lines += more;
        }
    }

    /// The last message that names the fact.
    pub(super) const fn last(&self) -> u32 {
        self.last
    }

    fn of(&self, sources: &[Source]) -> u32 {
        sources.iter().filter_map(|source| self.lines.get(*source as usize)).sum()
    }

    /// The features of a fact of this `shape` and `len` bytes in a conversation of `n_messages`, in the order of
    /// [`FEATURES`]. Logarithms are to the base 2, of the count and one.
    #[must_use]
    pub fn features(&self, name: &str, shape: Shape, n_messages: u32) -> [f32; FEATURES.len()] {
        let own = [Source::Answer, Source::Edit, Source::Command, Source::Input];
        let calls = [Source::Edit, Source::Command, Source::Input];
        let n_lines = self.of(&Source::ALL);
        let is = |holds: bool| if holds { 1.0 } else { 0.0 };
        let n_after = n_messages.saturating_sub(self.last + 1);
        let own = self.of(&own);
        [
            is(shape == Shape::Path && name.contains('/')),
            is(shape == Shape::Path && !name.contains('/')),
            is(shape == Shape::Url),
            is(shape == Shape::Number),
            is(shape == Shape::Version),
            is(shape == Shape::Hash),
            is(name.starts_with('-')),
            log2(n_lines),
            log2(self.n_messages),
            share(n_after, n_messages),
            log2(n_after),
            share(self.last - self.first, n_messages),
            log2(self.of(&[Source::Prompt])),
            log2(self.of(&[Source::Answer])),
            log2(self.of(&calls)),
            log2(self.of(&[Source::Edit])),
            log2(self.of(&[Source::Command])),
            log2(self.of(&[Source::Result])),
            is(self.of(&[Source::Instructions]) > 0),
            is(own > 0),
            is(self.of(&[Source::Prompt]) > 0),
            is(self.of(&[Source::Edit]) > 0),
            is(own > 0 && self.of(&[Source::Result]) > 0),
            log2(self.n_beside / n_lines.max(1)),
            share(u32::try_from(name.len()).unwrap_or(u32::MAX), 40),
            log2(n_messages),
        ]
    }
}

/// The names of the features.
pub const FEATURES: [&str; 26] = [
    "path", "file", "url", "number", "version", "hash", "flag", "lines", "messages", "age", "messages after", "span",
    "in prompts", "in answers", "in calls", "in edits", "in commands", "in results", "in instructions", "own",
    "in a prompt", "in an edit", "own and in a result", "crowd", "length", "conversation",
];

/// `log2(n + 1)`, between powers of two by a straight line, so that all machines agree on it.
#[expect(clippy::cast_precision_loss, reason = "the lower bits of a count do not matter")]
fn log2(n: u32) -> f32 {
    let n = n.saturating_add(1);
    let whole = n.ilog2();
    whole as f32 + (n as f32 / (1u32 << whole) as f32 - 1.0)
}

#[expect(clippy::cast_precision_loss, reason = "the lower bits of a count do not matter")]
fn share(part: u32, whole: u32) -> f32 {
    part as f32 / whole.max(1) as f32
}
