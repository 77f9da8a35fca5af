//! A version as lines: edits put together, with what follows from them.

pub(super) mod composed;
pub(super) mod legacy;
pub(super) mod rebase;
