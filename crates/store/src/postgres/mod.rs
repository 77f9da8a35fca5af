//! The archive in a PostgreSQL database that a team shares: one schema, two connections for each process.
//!
//! Deposits of several processes go on at the same time. What may not happen beside them, to make or change the tables
//! and to drop what has served its time, takes a lock of the whole archive. `docs/archive.md` tells what a team needs to
//! know, `docs/decisions/0024-postgres.md` why it is made so.

mod batch;
mod fault;
mod fetch;
mod index;
mod migrate;
mod nearest;
mod operations;
mod originals;
mod rank;
mod reads;
mod records;
mod replace;
mod row;
mod search;
mod session;
mod sessions;
mod store;
mod sweep;
mod tls;
mod vectors;
mod writer;

pub(super) use store::Postgres;

#[cfg(any(test, feature = "testing"))]
pub(super) mod testing;
#[cfg(test)]
mod tests;
