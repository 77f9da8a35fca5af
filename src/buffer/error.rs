//! The errors of buffers.

use ctxc_store::ArchiveError;

/// An error of an operation on a buffer. Each message completes "cannot".
#[derive(Debug, thiserror::Error)]
pub(crate) enum BufferError {
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The records of the buffer in the archive are inconsistent.
    #[error(
        "read the buffer {name}: {detail}; a copy of the archive may have it whole, and `ctxc archive search` finds what was said in it"
    )]
    Damaged {
        /// The name of the buffer.
        name: String,
        /// The problem.
        detail: String,
    },
    /// No utterance has this number.
    #[error("find utterance {sequence} in the buffer {name}: {}", describe_numbers(held))]
    Unknown {
        /// The name of the buffer.
        name: String,
        /// The requested number.
        sequence: u64,
        /// The numbers in the buffer.
        held: Vec<u64>,
    },
}

/// The numbers in words: each of them if they are few.
fn describe_numbers(held: &[u64]) -> String {
    const FEW: usize = 20;
    match held {
        [] => "it is empty".to_owned(),
        [first, .., last] if held.len() > FEW => {
            format!("it holds {} of the numbers from {first} to {last}", held.len())
        }
        few => format!("it holds {}", few.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
