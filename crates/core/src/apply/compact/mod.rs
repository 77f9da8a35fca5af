//! The oldest messages replaced by a summary.

mod again;
pub(super) mod batches;
pub(super) mod boundary;
pub(super) mod client;
pub(super) mod prior;
pub(super) mod replace;
pub(super) mod scope;
