//! Events of a run, to show its progress.

use super::outcome::TaskOutcome;
use super::spent::UsageTotals;
use crate::EngineError;
use ctxc_store::ArchiveError;

/// An event of a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A task or a chunk is done.
    Finished {
        /// Its index, from 0.
        at: usize,
        /// The outcome of a task.
        outcome: Option<&'a TaskOutcome>,
        /// The usage of a task; zero for a cached reply.
        spent: UsageTotals,
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
pub(crate) enum WindowEvent<'a, T> {
    /// An item is finished, with a reply or its final error.
    Done(usize, Result<T, EngineError>, UsageTotals),
    /// Any other event.
    Event(RunEvent<'a>),
}
