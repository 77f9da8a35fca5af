//! What can go wrong with a buffer.

use crate::archive::ArchiveError;

/// Why something could not be done with a buffer. Each message fits after "cannot".
#[derive(Debug, thiserror::Error)]
pub enum BufferError {
    /// The archive that holds it failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What the archive holds of it makes no sense.
    #[error(
        "read the buffer {name}: {detail}; a copy of the archive may have it whole, and `ctxc archive search` finds what was said in it"
    )]
    Damaged {
        /// The name of the buffer.
        name: String,
        /// What is wrong.
        detail: String,
    },
    /// No utterance has this number.
    #[error("find utterance {sequence} in the buffer {name}: {}", held(.first, .last))]
    Unknown {
        /// The name of the buffer.
        name: String,
        /// The number that was asked for.
        sequence: u64,
        /// The first number that the buffer holds.
        first: Option<u64>,
        /// The last one.
        last: Option<u64>,
    },
}

fn held(first: &Option<u64>, last: &Option<u64>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!("it holds number {first} alone"),
        (Some(first), Some(last)) => format!("it holds numbers from {first} to {last}"),
        _ => "it is empty".to_owned(),
    }
}
