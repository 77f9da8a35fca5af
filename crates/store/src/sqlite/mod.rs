//! The archive in a `SQLite` database: one file, in WAL mode, readable by its owner only.

mod connect;
pub(super) mod damage;
mod fault;
pub(super) mod find_index;
pub(super) mod find_search;
pub(super) mod find_text;
mod find_words;
mod link;
pub(super) mod place;
pub(super) mod schema;
pub(super) mod search;
mod store;

#[cfg(test)]
pub(super) use store::open;
pub(super) use store::{in_memory, open_within};

#[cfg(test)]
mod tests;
