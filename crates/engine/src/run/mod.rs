//! Requests through an engine: what came of each.
//!
//! A [`Runner`] takes a request through one way, whatever its kind: [`question`] is the request as it leaves the machine, [`cache`]
//! holds what was paid for, [`window`] keeps calls under way, [`queue`] and [`limit`] say which is next and when, [`retry`] what follows
//! from a failure. [`judge`] says what a reply is worth, a shorter text by [`likeness`] and [`poor`]. [`shorten`] turns tasks into
//! questions and outcomes, [`summarize`] chunks of messages into summaries.

mod cache;
mod clock;
pub(crate) mod event;
mod gate;
mod judge;
mod level;
mod likeness;
mod limit;
pub(crate) mod options;
mod outcome;
mod poor;
mod question;
mod queue;
pub(crate) mod retry;
mod runner;
mod shorten;
mod spent;
mod summarize;
mod task;
pub(crate) mod window;

pub use cache::Cache;
pub use event::Event;
pub use gate::{MinKept, NotAShare};
pub use level::{Level, target};
pub use options::{End, Order, RunOptions};
pub use outcome::{Author, Kept, Outcome};
pub use question::Asked;
pub use retry::Timeouts;
pub use runner::Runner;
pub use shorten::{Questions, Ran, shorten_at_once};
pub use spent::Spent;
pub use summarize::{NOTHING_SAID, Summarized, SummaryError, summarize_at_once};
pub use task::{Task, TaskPart};
