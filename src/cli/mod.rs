//! The command line: the only layer with standard streams, the environment, a clock and exit codes.
//!
//! What was typed ([`args`]) becomes resolved settings (one struct in each command), which a command turns into data
//! on standard output and words on standard error, both through the [`Ui`].

mod args;
mod asking;
mod backups;
mod client;
mod commands;
mod compacting;
mod completing;
mod compressing;
mod config;
mod context;
mod cut;
mod dispatch;
mod entry;
pub mod error;
mod fit;
mod fitting;
mod folding;
pub mod input;
mod interrupt;
mod landing;
#[cfg(feature = "mcp")]
mod mcp;
mod meaning;
mod pile;
mod pipeline;
mod places;
mod plan_file;
pub mod progress;
mod prune;
mod quantity;
mod reading;
mod refs;
mod restore;
mod rewriting;
mod root;
mod sanitizer;
mod schema;
mod screen;
pub mod settings;
mod shrinking;
mod stats;
mod stored;
mod taking_up;
pub mod ui;

pub use dispatch::{Ended, Surroundings, main, run_within};
pub use error::{CommandError, Completion};
#[cfg(all(feature = "mcp", any(test, feature = "fuzzing")))]
pub use mcp::reads_any_call;
#[cfg(any(test, feature = "fuzzing"))]
pub use plan_file::reads_any_plan;
pub use schema::{ResultSchema, Schemas, schemas};
pub use ui::Ui;
