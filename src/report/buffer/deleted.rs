//! What was deleted from a buffer.

use std::fmt;

use serde::Serialize;

use super::Fill;
use crate::buffer::State;
use crate::report::size::counted;

/// What was deleted from a buffer.
#[derive(Clone, Debug, Serialize)]
pub struct DeleteReport {
    schema: u32,
    verb: &'static str,
    buffer: String,
    /// The number of the one utterance that was deleted.
    sequence: Option<u64>,
    /// How many were.
    deleted: u64,
    holds: Fill,
}

impl DeleteReport {
    /// The utterance `sequence` is gone from the buffer called `buffer`, whose state is this now.
    #[must_use]
    pub fn one(buffer: String, sequence: u64, state: &State) -> Self {
        let holds = Fill::new(state);
        Self { schema: 1, verb: "buffer delete", buffer, sequence: Some(sequence), deleted: 1, holds }
    }

    /// All of the buffer called `buffer` is gone, which were so many utterances.
    #[must_use]
    pub fn all(buffer: String, n_utterances: u64) -> Self {
        let holds = Fill::new(&State::default());
        Self { schema: 1, verb: "buffer delete", buffer, sequence: None, deleted: n_utterances, holds }
    }
}

impl fmt::Display for DeleteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, sequence, deleted, holds, .. } = self;
        match sequence {
            Some(sequence) => writeln!(f, "deleted utterance {sequence} from buffer {buffer}: {holds}"),
            None => writeln!(f, "deleted buffer {buffer}: {} and its summary", counted(*deleted, "utterance")),
        }
    }
}
