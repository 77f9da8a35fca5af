//! Decisions: pure functions of what a transcript is, without clock, files or network.

mod band;
mod batch;
mod call;
mod fold;
mod handle;
mod latest;
mod ledger;
mod preset;
mod protect;
mod stage;
mod step;
mod supersede;
mod target;
mod task;
mod truncate;
mod view;

pub use band::{Band, BandError, Bands, Level};
pub use batch::Batch;
pub use call::{Access, Answer, Call, Lines, Place, Repeat, Subject, TodoKind};
pub use fold::{Clip, chunks, refold, split};
pub use handle::{Fits, Handle, Handles, NotAHandle};
use latest::Latest;
pub use ledger::{Action, Ledger};
pub use preset::Preset;
pub use protect::{BadGlob, Horizon, Protected};
pub use stage::{CompressStage, PlannedCut, PlannedText, PruneStage, Stage, TruncateStage};
pub use step::Step;
pub use supersede::{NotARule, Rule, Superseded, supersede};
pub use target::{NotATarget, Target};
pub use task::{Candidate, Include, Roles, Selection, Task, TaskPart, candidates, target};
pub use truncate::{As, Kept, Message, Opening, TopDownTruncation, Truncation, Unchanged};
pub use view::view;
