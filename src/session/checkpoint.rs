//! The session as it was read, to go back to where a plan that was tried on it is not used.

use std::fs::File;
use std::io;

use super::reading::{Drafted, Reading};
use ctxc_core::apply::Lines;
use ctxc_core::version::Edit;
use ctxc_transcript::{Chain, Index};

/// A session before a plan is tried on it.
pub(crate) struct Checkpoint {
    pending: Vec<Edit>,
    lines: Lines,
    /// The draft that was planned on; none where that is the file itself, which a reading keeps whatever is drafted of it.
    draft: Option<(File, Index, Chain)>,
}

impl Checkpoint {
    /// That of `reading`.
    ///
    /// # Errors
    /// When a file cannot be opened once more.
    pub(crate) fn of(reading: &Reading) -> io::Result<Self> {
        let draft = match &reading.drafted {
            Some(_) => Some((reading.file.try_clone()?, reading.index.clone(), reading.chain.clone())),
            None => None,
        };
        Ok(Self { pending: reading.past.pending.clone(), lines: reading.past.lines.clone(), draft })
    }

    /// Takes `reading` back to it.
    ///
    /// # Errors
    /// When a file cannot be opened once more.
    pub(crate) fn restore(&self, reading: &mut Reading) -> io::Result<()> {
        reading.past.pending.clone_from(&self.pending);
        reading.past.lines.clone_from(&self.lines);
        if let Some((file, index, chain)) = &self.draft {
            (reading.file, reading.index, reading.chain) = (file.try_clone()?, index.clone(), chain.clone());
        } else if let Some(Drafted { file, index, .. }) = reading.drafted.take() {
            reading.chain = Chain::find(&index);
            (reading.file, reading.index) = (file, index);
        }
        Ok(())
    }
}
