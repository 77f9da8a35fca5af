//! Decisions: pure functions of what a transcript is, without clock, files or network.

mod band;
mod handle;
mod step;
mod target;
mod task;

pub use band::{Band, BandError, Bands, Level};
pub use handle::{Fits, Handle, Handles, NotAHandle};
pub use step::Step;
pub use target::{NotATarget, Target};
pub use task::{Candidate, Include, Roles, Selection, Task, TaskPart, candidates, target};
