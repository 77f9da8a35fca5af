//! Events of a run, for whoever shows its progress.

use super::outcome::Outcome;
use super::spent::Spent;
use crate::EngineError;
use ctxc_store::ArchiveError;

/// Events of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A task or a chunk is done.
    Finished {
        /// Its place, from 0.
        at: usize,
        /// The outcome of a task.
        outcome: Option<&'a Outcome>,
        /// What a task took; nothing for what was there already.
        spent: Spent,
    },
    /// A call failed for this reason, and is made again.
    Again(&'a EngineError),
    /// A chunk failed for this reason, and is summarized in halves.
    Halved(&'a EngineError),
    /// Nothing has happened for a moment.
    Waiting,
    /// A reply could not be kept: should the run be broken off, it is asked for again.
    NotCached(&'a ArchiveError),
}

/// An event of a run through items.
#[derive(Debug)]
pub(crate) enum Step<'a, T> {
    /// An item is done: it has a reply, or none for good.
    Done(usize, Result<T, EngineError>, Spent),
    /// Anything else.
    Event(Event<'a>),
}
