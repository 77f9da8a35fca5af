//! The archive in memory: gone when it is dropped. For tests and for `memory:`.

mod search;
mod store;

pub(super) use store::Memory;
