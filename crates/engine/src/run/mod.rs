//! Runs of requests through an engine.
//!
//! A [`Runner`] handles all kinds of request in the same way: [`question`] is the request as it is sent, [`cache`] holds
//! earlier replies, [`window`] runs calls concurrently, [`queue`] and [`limit`] choose the next one and its time, [`retry`]
//! decides after failures. [`judge`] judges replies, shorter texts also by [`likeness`] and [`poor`]. [`shorten`] turns
//! tasks into questions and outcomes, [`summarize`] chunks of messages into summaries.

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
