//! Tasks through an engine: what came of each.
//!
//! [`Questions`] says what is to be asked, each text once and as it leaves the machine. [`run`] asks: [`window`] keeps
//! calls under way, [`queue`] and [`limit`] say which is next and when, [`retry`] what follows from a failure. What comes back is judged in
//! [`outcome`] and, where a model wrote it, in [`likeness`] and [`poor`], and kept in [`cache`].

mod cache;
mod clock;
mod fold;
mod gate;
mod leaving;
mod level;
mod likeness;
mod limit;
mod outcome;
mod poor;
mod question;
mod queue;
pub(crate) mod retry;
mod runner;
mod spent;
mod task;
mod terms;
mod window;

pub use cache::Cache;
pub use fold::{FoldEvent, FoldFailure, Folded, Folding, NOTHING_SAID, fold, fold_at_once, fold_with};
pub use gate::{MinKept, NotAShare};
pub use leaving::{Asked, Precautions, PriceOf, expect_folds};
pub use level::{Level, target};
pub use outcome::{Author, Kept, Outcome};
pub use question::{Question, Questions};
pub use retry::Timeouts;
pub use runner::{Event, Ran, run, run_at_once};
pub use spent::Spent;
pub use task::{Task, TaskPart};
pub use terms::{End, Order, Terms};
