//! The command line: arguments, verbs, the configuration, and what the plugin runs inside Claude Code.
//!
//! A verb (`commands`) has its arguments, resolves them to what an operation of [`crate::session`] needs, and prints the
//! report through its `Context`.

mod args;
mod client;
mod commands;
mod completing;
mod config;
mod context;
mod dispatch;
mod environment;
mod plan_file;
mod root;
mod schema;
mod suggest;

pub use dispatch::{CommandOutput, HostEnvironment, main, run_within};
#[cfg(any(test, feature = "fuzzing"))]
pub use plan_file::reads_any_plan;
pub use schema::{ResultSchema, Schemas, schemas};
