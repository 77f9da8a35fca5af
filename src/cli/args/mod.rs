//! Groups of arguments that several verbs share, whose doc comments are the help texts, and their resolution to the inputs of
//! an operation: sessions are found, defaults filled in and contradictions refused.

mod archive;
mod engine;
mod meaning;
mod pruning;
mod removal;
mod shared;
mod summarizing;
mod targets;

pub(crate) use archive::{ArchiveArg, ArchiveIfAny};
pub(crate) use engine::EngineArgs;
pub(crate) use meaning::MeaningArgs;
pub(crate) use pruning::{ExtraArgs, ProtectArgs, SelectArgs};
pub(crate) use removal::RemovalArgs;
pub(crate) use shared::{KeptOnly, NewSessionArgs, RewriteArgs, SessionArg, both_printed, find};
pub(crate) use summarizing::{SummarizingArgs, summarizing_of};
pub(crate) use targets::{NamedArgs, PatternRole, TargetArgs};
