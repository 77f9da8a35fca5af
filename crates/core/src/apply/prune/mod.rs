//! Results that later calls replaced, and those of a certain age.

pub(super) mod news;
pub(super) mod rules;
pub(super) mod stage;
pub(super) mod unseen;
