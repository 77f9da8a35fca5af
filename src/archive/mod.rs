//! The archive: the store of everything that was taken out of transcripts.
//!
//! Whole original lines come in, each named by its [`Digest`], and with them the [`Operation`] that took
//! them out, whose recipe builds the source again from the output. Both become durable together, at
//! [`Archive::commit`], which the caller waits for before the file that lacks those lines takes its place.
//! The archive does not know what a line means, and it never reads the environment or the clock.
//! `docs/decisions/0002-archive-model.md` says why it is made so.

mod codec;
mod error;
mod memory;
mod open;
mod recipe;
mod record;
mod sqlite;
mod url;

#[cfg(test)]
mod suite;

pub use error::ArchiveError;
pub use open::open;
pub use recipe::RecipeStep;
pub use record::{Cut, FileRef, Operation, Original, StoredOriginal, operation_id};
pub use url::{ArchiveUrl, default_path};

use crate::text::Digest;

/// A store of originals and operations.
///
/// What is put forms a deposit: it can be read, from anywhere, once it is committed and not before, and
/// all of it or nothing. Dropping an archive forgets what was not committed. When a put fails, the deposit
/// is lost as a whole: until [`rollback`](Archive::rollback), every further put and commit fails too.
pub trait Archive: Send {
    /// Adds one original line to the deposit and returns its digest. A line that the archive already has is
    /// not stored a second time; that it was taken out once more is noted.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError>;

    /// Adds one operation to the deposit. One that the archive already has, equal in everything, is left as
    /// it is.
    ///
    /// # Errors
    /// When another operation has this id, or the store cannot be written.
    fn put_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError>;

    /// Makes everything put since the last commit durable, synced to the disk, and visible at once.
    ///
    /// # Errors
    /// When the store cannot be written, or a put has failed; nothing of the deposit is kept then.
    fn commit(&mut self) -> Result<(), ArchiveError>;

    /// Forgets everything put since the last commit.
    ///
    /// # Errors
    /// When the store itself fails; what was put is not kept in that case either.
    fn rollback(&mut self) -> Result<(), ArchiveError>;

    /// The whole original line with this digest, its terminator included; `None` where there is none.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn line(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError>;

    /// The originals whose entry had this uuid, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError>;

    /// What stood where the line with this digest stands now: the newest original that it replaced.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError>;

    /// The newest operation whose output has this digest. One that changed something goes before one that only copied,
    /// for it alone leads back to a source.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError>;

    /// The operations recorded for this session, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError>;
}
