//! The archive: the store of everything that was removed from transcripts.
//!
//! Whole original lines come in, each named by its [`Digest`], and with them the [`Operation`] that took
//! them out, whose recipe builds the source again from the output. Both become durable together, at
//! [`Archive::commit`], which the caller waits for before the file that lacks those lines takes its place.
//! The archive does not know what a line means, and it never reads the environment or the clock.
//! `docs/decisions/0002-archive-model.md` says why it is made so.

mod body;
mod cleanup;
pub mod codec;
mod copy;
mod cuts;
mod document;
mod embed;
mod error;
mod function_words;
mod lineage;
mod object;
mod open;
mod operation;
mod original;
mod pack;
mod packed;
mod path_bytes;
#[cfg(feature = "postgres")]
mod postgres;
mod prefix;
mod query;
mod recipe;
mod record;
mod server_url;
mod sqlite;
mod terms;
mod url;
pub mod waiting;

#[cfg(test)]
mod suite;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use cleanup::{Cleanup, Contents, Dropped, RESULT_DAYS, Sweep};
pub use copy::{Copied, copy, copy_object};
pub use document::{Document, DocumentId, Kind, NotAKind};
pub use embed::{EMBEDDED, Vector, fuse};
pub use error::ArchiveError;
pub use lineage::{ancestors, lineage};
pub use object::{EachLine, LineId, NotAnObjectKind, Object, ObjectKind};
pub use open::{Upgraded, open, open_existing, upgrade};
pub use operation::{Cut, FileRef, Operation, operation_id};
pub use original::{Original, StoredOriginal};
pub use query::{Hit, Query, Reader};
pub use recipe::RecipeStep;
pub use record::{Record, RecordFilter};
pub use server_url::{Encryption, ServerUrl, hide_password};
pub use sqlite::find_index::{FindIndex, FindPlace, FindSource, FindText};
pub use sqlite::find_search::{FindHit, FindQuery};
pub use sqlite::peek::schema_of;
pub use sqlite::schema::NEWEST as SCHEMA;
pub use terms::find;
pub use url::{ArchiveUrl, default_path};

use std::ops::ControlFlow;
use std::path::Path;

use error::other_dimension;

use ctxc_transcript::text::Digest;

/// A store of originals, operations and records.
///
/// What is put forms a deposit: it can be read, from anywhere, once it is committed and not before, and
/// all of it or nothing. Dropping an archive forgets what was not committed. When a put fails, the deposit
/// is lost as a whole: until [`rollback`](Archive::rollback), every further put and commit fails too.
pub trait Archive: Send {
    /// Adds one original line to the deposit and returns its digest. A line that the archive already has is
    /// not stored a second time; that it was removed once more is noted.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError>;

    /// Adds one operation to the deposit, with the recipe that builds its source again from its output, in order. The
    /// originals that were put since the last operation, or since the deposit began, are its own. One that the archive
    /// already has, equal in everything, is left as it is.
    ///
    /// # Errors
    /// When another operation has this id, or the store cannot be written.
    fn put_operation(&mut self, operation: &Operation, recipe: &[RecipeStep]) -> Result<(), ArchiveError>;

    /// Adds one record to the deposit, in the place of an older one of its key and kind.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn put_record(&mut self, record: &Record) -> Result<(), ArchiveError>;

    /// Drops the record of this kind with this key, as a part of the deposit. Where there is none, nothing happens.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn drop_record(&mut self, kind: Kind, key: Digest) -> Result<(), ArchiveError>;

    /// Adds whole lines to the deposit, of which each ends in `\n`, and returns their ids in their order. A line that the
    /// archive has already is not stored a second time. The digests are those of the lines.
    ///
    /// A line stays for as long as an object or an original refers to it; one to which nothing refers goes with the next
    /// [`sweep`](Archive::sweep) by anybody. So what is committed in portions names its lines in an object in each.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn put_lines(&mut self, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError>;

    /// Adds one object to the deposit, in the place of an older one of its kind and key; it then counts as the newest.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchLine`] when it refers to a line that is not there; or when the store cannot be written. Nothing
    /// of the deposit is kept then.
    fn put_object(&mut self, object: &Object) -> Result<(), ArchiveError>;

    /// Drops the object of this kind with this key, as a part of the deposit. Where there is none, nothing happens.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn drop_object(&mut self, kind: ObjectKind, key: Digest) -> Result<(), ArchiveError>;

    /// Drops the originals that the operation with this id took out, as a part of the deposit. Where there are none,
    /// nothing happens.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn drop_originals(&mut self, operation: &str) -> Result<(), ArchiveError>;

    /// Puts other bytes in the place of lines, under their ids, as a part of the deposit. What was indexed of them goes, and
    /// the next search indexes what they are now.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchLine`] when one is not there; or when the store cannot be written. Nothing of the deposit is kept
    /// then.
    fn replace_lines(&mut self, lines: &[(LineId, Vec<u8>)]) -> Result<(), ArchiveError>;

    /// Puts the command, the report, the cuts and the digests of `operation` in the place of those that it has, as a part of the deposit.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn replace_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError>;

    /// Writes the store anew, so that no byte of it holds what was replaced or dropped.
    ///
    /// # Errors
    /// [`ArchiveError::Locked`] where another process reads what is to go; when a deposit is open, or the store cannot be
    /// written. What was committed stays so.
    fn erase(&mut self) -> Result<(), ArchiveError>;

    /// Opens the deposit, and keeps all other writers out until it is committed or rolled back. What is read meanwhile
    /// is what stands there when it is committed, so that something may be read, changed and put back.
    ///
    /// # Errors
    /// When another writer does not let go for too long, or a put has failed.
    fn claim(&mut self) -> Result<(), ArchiveError>;

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

    /// The lines with these digests, in their order; `None` for those that are not there.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn lines(&self, digests: &[Digest]) -> Result<Vec<Option<Vec<u8>>>, ArchiveError> {
        digests.iter().map(|digest| self.line(*digest)).collect()
    }

    /// The id of the line with this digest; `None` where there is none.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn line_id(&self, digest: Digest) -> Result<Option<LineId>, ArchiveError>;

    /// Calls `each` with the lines of these ids, in their order. Lines that were put one after the other are read in one
    /// go.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchLine`] when one of them is not there; when the store cannot be read, or what it holds is
    /// damaged; or that of `each`, which ends it.
    fn each_line(&self, ids: &[LineId], each: &mut EachLine<'_>) -> Result<(), ArchiveError>;

    /// The object of this kind with this key; `None` where there is none.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn object(&self, kind: ObjectKind, key: Digest) -> Result<Option<Object>, ArchiveError>;

    /// The keys and heads of the objects of this kind and group, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn objects_of(&self, kind: ObjectKind, group: Digest) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError>;

    /// The keys and heads of all objects of this kind, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn object_keys(&self, kind: ObjectKind) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError>;

    /// The digests of the lines whose digest begins with the hexadecimal digits `prefix`, the first few in their order;
    /// none where `prefix` has no digits or something else than digits.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn lines_by_prefix(&self, prefix: &str) -> Result<Vec<Digest>, ArchiveError>;

    /// The originals whose entry had this uuid, newest first: one for each time that it was removed.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError>;

    /// The originals that the operation with this id took out, in the order in which they were put.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn originals_by_operation(&self, id: &str) -> Result<Vec<StoredOriginal>, ArchiveError>;

    /// The originals that are this line, newest first: one for each time that it was removed.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn originals_of_line(&self, line: Digest) -> Result<Vec<StoredOriginal>, ArchiveError>;

    /// The originals of which it is not known which operation took them out, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn loose_originals(&self) -> Result<Vec<StoredOriginal>, ArchiveError>;

    /// What stood where the line with this digest stands now: the newest original that it replaced.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError>;

    /// The operation with this id, or the only one whose id begins so; `None` where there is none.
    ///
    /// # Errors
    /// [`ArchiveError::AmbiguousOperation`] when several begin so; or when the store cannot be read, or what it holds is
    /// damaged.
    fn operation(&self, id: &str) -> Result<Option<Operation>, ArchiveError>;

    /// The newest operation whose output has this digest. One that changed something goes before one that only copied,
    /// for it alone leads back to a source.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError>;

    /// The newest operation that was recorded before the one with this id and that wrote `output`, chosen as
    /// [`operation_by_output`](Archive::operation_by_output) does.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operation_before(&self, id: &str, output: Output<'_>) -> Result<Option<Operation>, ArchiveError>;

    /// The operations recorded for this session, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError>;

    /// The operations whose output was written to `path`, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operations_at(&self, path: &Path) -> Result<Vec<Operation>, ArchiveError>;

    /// The ids of all operations, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn operation_ids(&self) -> Result<Vec<String>, ArchiveError>;

    /// How the source of the operation with this id is built again from its output, in order; `None` where there is no
    /// such operation.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError>;

    /// The record of this kind with this key; `None` where there is none.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn record(&self, kind: Kind, key: Digest) -> Result<Option<Record>, ArchiveError>;

    /// The records of these kinds with these keys, as far as they are there, in any order.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn records_named(&self, names: &[(Kind, Digest)]) -> Result<Vec<Record>, ArchiveError> {
        let found = names.iter().map(|(kind, key)| self.record(*kind, *key).transpose());
        found.flatten().collect()
    }

    /// The records that `filter` admits, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn records(&self, filter: &RecordFilter<'_>) -> Result<Vec<Record>, ArchiveError>;

    /// The kinds and keys of all records, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn record_names(&self) -> Result<Vec<DocumentId>, ArchiveError>;

    /// The records whose key begins with the hexadecimal digits `prefix`, as [`Archive::lines_by_prefix`] finds lines.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn records_by_prefix(&self, prefix: &str) -> Result<Vec<DocumentId>, ArchiveError>;

    /// Brings the index up to date by which [`search`](Archive::search) goes. `read` says what a line means.
    /// `progress` is told how many of how many entries are done, and may end it: what was indexed by then stays so.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    fn index(
        &mut self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError>;

    /// The entries that `query` finds among those that are indexed, best first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn search(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError>;

    /// The entries that `query` admits among those that are indexed, whatever they say, those first that were indexed
    /// last.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn entries(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError>;

    /// The entries that have no vector of `model`, among those that are indexed and of a kind of [`EMBEDDED`]: the first
    /// `limit` of them, those first that were indexed last.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn without_vector(&self, model: &str, limit: u32, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError>;

    /// Keeps the vectors of `model` for entries, at once and durably; `None` for an entry that has none and is not to be
    /// asked for again. What is no longer there is passed over. Vectors of other models stay.
    ///
    /// # Errors
    /// [`ArchiveError::OtherDimension`] when those of `model` have another number of numbers; or when a deposit is open, or
    /// the store cannot be written: none of them is kept then.
    fn put_vectors(&mut self, model: &str, vectors: &[(DocumentId, Option<Vector>)]) -> Result<(), ArchiveError>;

    /// The entries that `query` admits, whatever its words are, whose vectors of `model` are most like `vector`, the most
    /// alike first. Those that have nothing in common with it are left out.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn nearest(
        &self,
        model: &str,
        vector: &Vector,
        query: &Query<'_>,
        read: &Reader<'_>,
    ) -> Result<Vec<Hit>, ArchiveError>;

    /// How much the archive holds.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn contents(&self) -> Result<Contents, ArchiveError>;

    /// Calls `each` with every line, its length, and what it takes up in the archive in bytes: of a pack its share by length.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn each_size(&self, each: &mut dyn FnMut(LineId, u64, u64)) -> Result<(), ArchiveError>;

    /// How many bytes the store takes up, where it is the one that knows.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn stored_bytes(&self) -> Result<Option<u64>, ArchiveError> {
        Ok(None)
    }

    /// Merges small packs of lines, which many small deposits leave behind, so that they take less space. `go_on` is
    /// asked after each pack that was written whether to write another; each is durable by then. Returns how many packs
    /// there are fewer.
    ///
    /// # Errors
    /// When a deposit is open, the store cannot be written, or what it holds is damaged.
    fn merge_packs(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64, ArchiveError>;

    /// Drops what `cleanup` names and what nothing refers to any more, all of it or nothing; or counts it. Small packs are
    /// merged where it drops.
    ///
    /// # Errors
    /// When the store cannot be written. Where only the space could not be given back, what went is gone.
    fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError>;
}

/// What an operation wrote, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// A transcript of this digest.
    Digest(Digest),
    /// The beginning of a file: written to this path, and no longer than so many bytes.
    Beginning(&'a Path, u64),
}
