//! What an archive can do.
//!
//! Few operations, which every database has to have; what follows from them is in `shorthand`.

use std::ops::ControlFlow;
use std::path::Path;

use super::{
    ArchiveError, Cleanup, Contents, DocumentId, Dropped, EachLine, Hit, Kind, LineId, Object, ObjectKind, Operation,
    Original, Query, Reader, RecipeStep, Record, RecordFilter, StoredOriginal, Sweep, Vector,
};
use ctxc_transcript::text::Digest;

/// A store of lines, objects, records and operations.
///
/// Puts form a deposit: it can be read, from anywhere, once it is committed and not before, and
/// all of it or nothing. Dropping an archive forgets what was not committed. When a put fails, the deposit
/// is lost as a whole: until [`rollback`](Archive::rollback), every further put and commit fails too.
pub trait Archive: Send {
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

    /// Adds one entry to the deposit.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchLine`] when an object refers to a line that is not there,
    /// [`ArchiveError::DuplicateOperation`] when another operation has this id; or when the store cannot be written.
    /// Nothing of the deposit is kept then.
    fn put(&mut self, entry: Entry<'_>) -> Result<(), ArchiveError>;

    /// Adds whole lines to the deposit, of which each ends in `\n`, and returns their ids in their order. A line that the
    /// archive has already is not stored a second time. The digests are those of the lines.
    ///
    /// A line stays for as long as an object or an original refers to it; one to which nothing refers goes with the next
    /// [`sweep`](Archive::sweep) by anybody. So what is committed in portions names its lines in an object in each.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn put_lines(&mut self, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError>;

    /// Drops what has this name, as a part of the deposit. Where there is none, nothing happens.
    ///
    /// # Errors
    /// When the store cannot be written; nothing of the deposit is kept then.
    fn remove(&mut self, name: Name<'_>) -> Result<(), ArchiveError>;

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

    /// The ids of the lines with these digests, as far as they are there, in any order.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn line_ids(&self, digests: &[Digest]) -> Result<Vec<(Digest, LineId)>, ArchiveError>;

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

    /// The keys and heads of the objects of this kind, of this group alone where one is given, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn objects(&self, kind: ObjectKind, group: Option<Digest>) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError>;

    /// A mark of the objects of this kind, which is another one once any of them was put or dropped.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn objects_mark(&self, kind: ObjectKind) -> Result<String, ArchiveError>;

    /// The records that `filter` admits, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn records(&self, filter: &RecordFilter<'_>) -> Result<Vec<Record>, ArchiveError>;

    /// The records of these kinds with these keys, as far as they are there, in any order.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn records_named(&self, names: &[(Kind, Digest)]) -> Result<Vec<Record>, ArchiveError>;

    /// The kinds and keys of all records, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn record_names(&self) -> Result<Vec<(Kind, Digest)>, ArchiveError>;

    /// The lines whose digest begins with the hexadecimal digits `prefix`, then the records whose key does, the first few of
    /// each in their order; none where `prefix` has no digits or something else than digits.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn begins_with(&self, prefix: &str) -> Result<Vec<DocumentId>, ArchiveError>;

    /// The originals that are asked for.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn originals(&self, wanted: Originals<'_>) -> Result<Vec<StoredOriginal>, ArchiveError>;

    /// The operations that are asked for.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn operations(&self, wanted: Operations<'_>) -> Result<Vec<Operation>, ArchiveError>;

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

    /// Brings the index up to date by which [`find`](Archive::find) goes. `read` says what a line means.
    /// `progress` is told how many of how many entries are done, and may end it: what was indexed by then stays so.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    fn index(
        &mut self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError>;

    /// The entries that are looked for, among those that are indexed.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged.
    fn find(&self, search: &Search<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError>;

    /// Keeps the vectors of `model` for entries, at once and durably; `None` for an entry that has none and is not to be
    /// asked for again. What is no longer there is passed over. Vectors of other models stay.
    ///
    /// # Errors
    /// [`ArchiveError::OtherDimension`] when those of `model` have another number of numbers; or when a deposit is open, or
    /// the store cannot be written: none of them is kept then.
    fn put_vectors(&mut self, model: &str, vectors: &[(DocumentId, Option<Vector>)]) -> Result<(), ArchiveError>;

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
    fn stored_bytes(&self) -> Result<Option<u64>, ArchiveError>;

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

    /// Writes the store anew, so that no byte of it holds what was replaced or dropped.
    ///
    /// # Errors
    /// [`ArchiveError::Locked`] where another process reads what is to go; when a deposit is open, or the store cannot be
    /// written. What was committed stays so.
    fn erase(&mut self) -> Result<(), ArchiveError>;
}

/// A record to put into an archive.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// An object, in the place of an older one of its kind and key; it then counts as the newest.
    Object(&'a Object),
    /// A record, in the place of an older one of its key and kind.
    Record(&'a Record),
    /// An operation, with the recipe that builds its source again from its output, in order. The originals that were put
    /// since the last operation, or since the deposit began, are its own. One that the archive already has, equal in
    /// everything, is left as it is.
    Operation(&'a Operation, &'a [RecipeStep]),
    /// An original line and its digest. A line that the archive already has is not stored a second time; that it was
    /// removed once more is noted.
    Original(Digest, &'a Original<'a>),
}

/// The name of a record to drop from an archive.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// The object of this kind with this key.
    Object(ObjectKind, Digest),
    /// The record of this kind with this key.
    Record(Kind, Digest),
    /// The originals that the operation with this id took out.
    Originals(&'a str),
}

/// Which originals are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Originals<'a> {
    /// Those whose entry had this uuid, newest first: one for each time that it was removed.
    Uuid(&'a str),
    /// Those that are this line, newest first: one for each time that it was removed.
    Line(Digest),
    /// The newest that the line with this digest replaced.
    ReplacedBy(Digest),
    /// Those that the operation with this id took out, in the order in which they were put.
    Operation(&'a str),
    /// Those of which it is not known which operation took them out, oldest first.
    Nobodys,
}

/// Which operations are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Operations<'a> {
    /// The first few whose id begins so, in the order of their ids.
    Named(&'a str),
    /// Those recorded for this session, oldest first.
    Of(&'a str),
    /// Those whose output was written to this path, oldest first.
    At(&'a Path),
    /// The newest whose output has this digest. One that changed something goes before one that only copied, for it alone
    /// leads back to a source.
    Wrote(Digest),
    /// The newest that was recorded before the one with this id and that wrote this, chosen as [`Self::Wrote`].
    Before(&'a str, Output<'a>),
}

/// The output of an operation, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// A transcript of this digest.
    Digest(Digest),
    /// The beginning of a file: written to this path, and no longer than so many bytes.
    Beginning(&'a Path, u64),
}

/// Which entries are looked for.
#[derive(Clone, Copy, Debug)]
pub enum Search<'a> {
    /// Those that a query finds, best first.
    Words(&'a Query<'a>),
    /// Those that a query admits, whatever they say, those first that were indexed last.
    Newest(&'a Query<'a>),
    /// Those that a query admits, whatever its words are, whose vectors of a model are most like this one, the most alike
    /// first. Those that have nothing in common with it are left out.
    Nearest(&'a str, &'a Vector, &'a Query<'a>),
    /// Those that have no vector of a model and are of a kind of [`EMBEDDED`](super::EMBEDDED): the first so many of them,
    /// those first that were indexed last.
    WithoutVector(&'a str, u32),
}
