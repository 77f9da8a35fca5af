//! The address of a line that an edit changes.

use ctxc_transcript::LineNo;

/// A line of a session: one that it had, or one that an operation inserted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineAddress {
    /// The line at this place among all lines of the state. Lines are only ever appended, so the place never changes.
    Stored(LineNo),
    /// The line at this place among those that the operation inserted.
    Inserted {
        /// The id of the operation.
        operation: String,
        /// The place, from 0.
        at: u32,
    },
}

impl LineAddress {
    /// The operation that inserted the line.
    #[must_use]
    pub fn inserted_by(&self) -> Option<&str> {
        match self {
            Self::Stored(_) => None,
            Self::Inserted { operation, .. } => Some(operation),
        }
    }
}
