//! One file for each verb: what it needs, and what it does.

pub(crate) mod archive;
pub(crate) mod buffer;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod compress;
pub(crate) mod config;
pub(crate) mod cutting;
pub(crate) mod diff;
pub(crate) mod keep;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod prune;
pub(crate) mod refs;
pub(crate) mod restore;
pub(crate) mod restore_items;
pub(crate) mod restore_kept;
pub(crate) mod restore_whole;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod truncate;
pub(crate) mod undo;
