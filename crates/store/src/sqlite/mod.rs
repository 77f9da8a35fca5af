//! The archive in a `SQLite` database: one file, in WAL mode, readable by its owner only.

mod connect;
mod fault;
pub(super) mod find_index;
pub(super) mod find_search;
mod index;
mod lines;
mod objects;
mod operations;
mod originals;
mod packs;
pub(super) mod peek;
mod place;
mod reads;
mod records;
mod replace;
mod row;
pub(super) mod schema;
mod search;
mod store;
mod sweep;
mod vectors;
mod writer;

pub(super) use store::Sqlite;

#[cfg(test)]
mod tests;
