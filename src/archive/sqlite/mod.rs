//! The archive in a `SQLite` database: one file, in WAL mode, readable by its owner only.

mod body;
mod connect;
mod fault;
mod place;
mod rows;
mod schema;
mod store;

pub(super) use store::Sqlite;

#[cfg(test)]
mod tests;
