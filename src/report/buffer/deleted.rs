//! The result of a deletion from a buffer.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::Fill;
use crate::buffer::BufferState;
use crate::report::size::count_noun;

/// The result of a deletion from a buffer.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct DeleteReport {
    buffer: String,
    /// The number of the one utterance that was deleted.
    sequence: Option<u64>,
    /// The number of utterances deleted.
    deleted: u64,
    holds: Fill,
}

impl DeleteReport {
    /// The report of the deletion of the utterance `sequence` from `buffer`, with its state afterwards.
    pub(crate) fn of_utterance(buffer: String, sequence: u64, state: &BufferState) -> Self {
        let holds = Fill::new(state);
        Self { buffer, sequence: Some(sequence), deleted: 1, holds }
    }

    /// The report of the deletion of `buffer` with its `n_utterances`.
    pub(crate) fn of_buffer(buffer: String, n_utterances: u64) -> Self {
        let holds = Fill::new(&BufferState::default());
        Self { buffer, sequence: None, deleted: n_utterances, holds }
    }
}

impl fmt::Display for DeleteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, sequence, deleted, holds, .. } = self;
        match sequence {
            Some(sequence) => writeln!(f, "deleted utterance {sequence} from buffer {buffer}: {holds}"),
            None => writeln!(f, "deleted buffer {buffer}: {} and its summary", count_noun(*deleted, "utterance")),
        }
    }
}
