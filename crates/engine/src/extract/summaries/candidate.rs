//! Candidates for the items of a summary.

use std::borrow::Cow;
use std::ops::Range;

use super::section::Section;

/// A candidate for an item.
pub(super) struct Candidate<'t> {
    pub(super) section: Section,
    pub(super) text: Cow<'t, str>,
    /// The UTF-16 units that it takes as an item.
    pub(super) cost: usize,
    /// The pieces of its text, for their features.
    pub(super) pieces: Range<usize>,
    /// The factor on its worth.
    pub(super) factor: f32,
    /// Whether it is kept whole beside the room: a prompt, or the work at hand.
    pub(super) is_certain: bool,
    /// The message or earlier summary that it comes from.
    pub(super) zone: usize,
}

impl Candidate<'_> {
    /// Whether it states something that a later one may replace.
    pub(super) fn may_change(&self) -> bool {
        let may_change = match self.section {
            Section::Constraints | Section::Asked | Section::Goal | Section::Open => true,
            // An answer, with its question, is of the person.
            Section::Decided => !self.text.contains('\n'),
            Section::Found | Section::Also => self.factor >= 1.0,
            Section::Now | Section::Done | Section::Failed => false,
        };
        may_change && !self.is_certain
    }
}
