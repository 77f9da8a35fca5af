//! Tasks through an engine: what came of each.

mod outcome;
mod runner;

pub use outcome::{Kept, Outcome};
pub use runner::{Event, run};
