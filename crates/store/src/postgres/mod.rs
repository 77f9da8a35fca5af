//! The archive in a PostgreSQL database that a team shares: one schema, two connections for each process.
//!
//! Deposits of several processes go on at the same time. What may not happen beside them, to make or change the tables
//! and to drop what has served its time, takes a lock of the whole archive. `docs/archive.md` tells what a team needs to
//! know, `docs/decisions/0024-postgres.md` why it is made so.

mod fault;
mod link;
mod rank;
pub(super) mod search;
mod session;
mod store;
mod tables;
mod tls;
mod value;
pub(super) mod vectors;
pub(super) mod words;

pub(super) use store::{is_there, open, stored_bytes};

#[cfg(any(test, feature = "testing"))]
pub(super) mod testing;
#[cfg(test)]
mod tests;
