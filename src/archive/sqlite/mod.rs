//! The archive in a `SQLite` database: one file, in WAL mode, readable by its owner only.

mod body;
mod connect;
mod fault;
mod operations;
mod originals;
mod place;
mod row;
mod schema;
mod store;
mod writer;

pub(super) use store::Sqlite;

#[cfg(test)]
mod tests;
