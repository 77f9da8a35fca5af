//! What was typed, one file for each verb: its arguments, whose doc comments are the help texts, and how they become
//! the settings of the command, with sessions found, defaults filled in and contradictions refused.

pub(super) mod archive;
pub(super) mod batch;
pub(super) mod buffer;
pub(super) mod check;
pub(super) mod clean;
pub(super) mod client;
pub(super) mod compact;
pub(super) mod completions;
pub(super) mod compress;
pub(super) mod diff;
pub(super) mod discard;
pub(super) mod distill;
pub(super) mod doctor;
mod engine;
pub(super) mod export;
pub(super) mod find;
pub(super) mod fit;
pub(super) mod forget;
pub(super) mod gain;
pub(super) mod keep;
pub(super) mod list;
pub(super) mod log;
pub(super) mod man;
#[cfg(feature = "mcp")]
pub(super) mod mcp;
mod meaning;
pub(super) mod prune;
pub(super) mod refs;
mod removal;
pub(super) mod restore;
mod root;
pub(super) mod run;
mod share;
pub(crate) mod shared;
pub(super) mod show;
pub(super) mod stats;
mod summarizing;
mod targets;
pub(super) mod truncate;
pub(super) mod undo;

pub(super) use compress::{Include, Only};
pub(super) use engine::EngineName;
#[cfg(feature = "mcp")]
pub(super) use fit::target as fit_target;
pub use root::Args;
pub(super) use root::Verb;
pub(super) use share::{Share, share};
pub(super) use shared::Estimate;
pub(super) use targets::{Aim, Matches};
