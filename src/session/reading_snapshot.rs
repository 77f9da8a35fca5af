//! The state of a reading, to return to if a plan that was tried on it is not used.

use std::fs::File;
use std::io;

use super::reading::{DraftSource, SessionReading};
use ctxc_core::apply::LineAddresses;
use ctxc_core::version::Edit;
use ctxc_transcript::{Chain, Index};

/// The state of a session before a plan is tried on it.
pub(crate) struct ReadingSnapshot {
    pending: Vec<Edit>,
    lines: LineAddresses,
    /// The current draft; `None` without one, since a reading keeps the file itself.
    draft: Option<(File, Index, Chain)>,
}

impl ReadingSnapshot {
    /// Saves the state of `reading`.
    ///
    /// # Errors
    /// When a file handle cannot be duplicated.
    pub(crate) fn of(reading: &SessionReading) -> io::Result<Self> {
        let draft = match &reading.drafted {
            Some(_) => Some((reading.file.try_clone()?, reading.index.clone(), reading.chain.clone())),
            None => None,
        };
        Ok(Self { pending: reading.past.pending.clone(), lines: reading.past.lines.clone(), draft })
    }

    /// Resets `reading` to the saved state.
    ///
    /// # Errors
    /// When a file handle cannot be duplicated.
    pub(crate) fn reset_reading(&self, reading: &mut SessionReading) -> io::Result<()> {
        reading.past.pending.clone_from(&self.pending);
        reading.past.lines.clone_from(&self.lines);
        if let Some((file, index, chain)) = &self.draft {
            (reading.file, reading.index, reading.chain) = (file.try_clone()?, index.clone(), chain.clone());
        } else if let Some(DraftSource { file, index, .. }) = reading.drafted.take() {
            reading.chain = Chain::find(&index);
            (reading.file, reading.index) = (file, index);
        }
        Ok(())
    }
}
