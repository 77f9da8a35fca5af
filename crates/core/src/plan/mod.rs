//! Decisions: pure functions of the content of a transcript, without clock, files or network.

#[cfg(any(test, feature = "fuzzing"))]
mod any;
mod band;
mod batch;
mod call;
mod compacting;
mod effects;
mod fit;
mod handle;
mod ledger;
mod lexer;
mod look;
mod policy;
mod preset;
mod protect;
mod published;
mod shell;
mod stage;
mod step;
mod supersede;
mod target;
mod task;
mod test_report;
mod test_run;
mod truncate;
mod view;

#[cfg(any(test, feature = "fuzzing"))]
pub use any::{reads_any_shell, reads_any_test_report};
pub use band::{Band, BandError, Bands};
pub use batch::Batch;
pub use call::{Access, Answer, Call, LineRange, Place, Repeat, Subject, TodoKind};
pub use compacting::{Chunking, Clip, chunks, refold, split};
pub use effects::{Action, effects, ends_in_search, folders, only_looks, steps_of_git, tells_its_end};
pub use fit::{FitChoice, Need, Removable, RemovableClass, ThinkingBehind, fit};
pub use handle::{Handle, Handles, NotAHandle};
pub use ledger::{Ending, Ledger, Progress, TaskNews, Todo};
pub use look::{Look, looked_at};
pub use policy::{
    CACHE_SECONDS, FIT_PROTECTS, PLACEHOLDER, Policy, RecordedStep, SUMMARY, SpentTokens, StepModel, recorded_cost,
    simulate_cost,
};
pub use preset::Preset;
pub use protect::{BadGlob, Horizon, Protected};
pub use published::{Published, published_in};
pub use shell::{Command, Join, Script, Word, without_cd, without_tail};
pub use stage::{AlsoRemoved, CompactStage, CompressStage, PlannedCut, PlannedText, PruneStage, Stage, TruncateStage};
pub use step::StepKind;
pub use supersede::{NotARule, Rule, Superseded, supersede};
pub(crate) use target::PatternTargets;
pub use target::{NotATarget, Target};
pub use task::{CompressCandidate, Include, Roles, Selection, candidates};
pub use test_report::TestReport;
pub use test_run::{Reach, Runner, TestRun, checks, shows_its_end};
pub use truncate::{As, Kept, Message, Opening, TopDownTruncation, Truncation, Unchanged};
pub use view::{Room, view};
