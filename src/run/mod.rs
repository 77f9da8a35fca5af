//! Tasks through an engine: what came of each.

mod gate;
mod outcome;
mod runner;

pub use gate::{MinKept, NotAShare};
pub use outcome::{Kept, Outcome};
pub use runner::{Event, run};
