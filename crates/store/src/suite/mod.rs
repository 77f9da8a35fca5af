//! One suite for every backend: what a deposit keeps, shows and forgets.

pub(crate) mod holdings;
pub(super) mod samples;

mod copies;
mod deposits;
mod lines;
mod meaning;
mod operations;
mod originals;
mod records;
