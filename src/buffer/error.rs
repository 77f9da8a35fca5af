//! What can go wrong with a buffer.

use ctxc_store::ArchiveError;

/// Why something could not be done with a buffer. Each message fits after "cannot".
#[derive(Debug, thiserror::Error)]
pub(crate) enum BufferError {
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
    #[error("find utterance {sequence} in the buffer {name}: {}", listed(held))]
    Unknown {
        /// The name of the buffer.
        name: String,
        /// The number that was asked for.
        sequence: u64,
        /// The numbers that the buffer holds.
        held: Vec<u64>,
    },
}

/// The numbers in words: each of them while they are few.
fn listed(held: &[u64]) -> String {
    const FEW: usize = 20;
    match held {
        [] => "it is empty".to_owned(),
        [first, .., last] if held.len() > FEW => {
            format!("it holds {} of the numbers from {first} to {last}", held.len())
        }
        few => format!("it holds {}", few.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
