//! Events of a run, to show its progress.

use super::outcome::Outcome;
use super::spent::Spent;
use crate::EngineError;
use ctxc_store::ArchiveError;

/// An event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A task or a chunk is done.
    Finished {
        /// Its index, from 0.
        at: usize,
        /// The outcome of a task.
        outcome: Option<&'a Outcome>,
        /// The usage of a task; zero for a cached reply.
        spent: Spent,
    },
    /// A call failed for this reason, and is retried.
    Again(&'a EngineError),
    /// A chunk failed for this reason, and is split in halves.
    Halved(&'a EngineError),
    /// No call has ended for a moment; breaking interrupts the run.
    Waiting,
    /// The cache failed and is not used any more: an interrupted run would pay again for the replies.
    NotCached(&'a ArchiveError),
}

/// An event of a window.
#[derive(Debug)]
pub(crate) enum Step<'a, T> {
    /// An item is finished, with a reply or its final error.
    Done(usize, Result<T, EngineError>, Spent),
    /// Any other event.
    Event(Event<'a>),
}
