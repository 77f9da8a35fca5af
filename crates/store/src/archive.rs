//! What an archive can do.
//!
//! Few operations, which every database has to have; what follows from them is in `shorthand`.

use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use super::{
    ArchiveError, Cleanup, Contents, DocumentId, Dropped, EachDigest, EachLine, Hit, Kind, LineId, Object, ObjectKind,
    Operation, Original, Query, Reader, Record, RecordFilter, StoredOriginal, Sweep, Vector,
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

    /// Adds an entry to the deposit, in the place of an older one of its name.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchLine`] when an object refers to a line that is not there, or one that is to be masked is not,
    /// [`ArchiveError::DuplicateOperation`] when another operation has this id, [`ArchiveError::OtherDimension`] when the
    /// vectors of this model have another number of numbers; or when the store cannot be written. Nothing of the deposit is
    /// kept then.
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

    /// The lines that have any of `digests`, as far as they are there, without what they say.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn line_ids(&self, digests: Digests<'_>) -> Result<Vec<(Digest, LineId)>, ArchiveError>;

    /// Calls `each` with the lines of these ids, in their order. Lines that were put one after the other are read in one
    /// go. Meanwhile this archive cannot be asked for anything else.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchLine`] when one of them is not there; when the store cannot be read, or what it holds is
    /// damaged; or that of `each`, which ends it.
    fn each_line(&self, ids: &[LineId], each: &mut EachLine<'_>) -> Result<(), ArchiveError>;

    /// Calls `each` with the digests and lengths of the lines of these ids, in their order, each once the line was read
    /// back: a pack that this archive wrote itself by the digest of its compressed bytes, any other by unpacking it.
    ///
    /// # Errors
    /// As [`each_line`](Archive::each_line).
    fn each_digest(&self, ids: &[LineId], each: &mut EachDigest<'_>) -> Result<(), ArchiveError>;

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

    /// A mark of the objects of this kind, which is another one once any of them was put or dropped. Two rows are read for
    /// it: a search asks at every call.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn objects_mark(&self, kind: ObjectKind) -> Result<String, ArchiveError>;

    /// Calls `each` with the records that are asked for. Meanwhile this archive cannot be asked for anything else.
    ///
    /// # Errors
    /// When the store cannot be read, or what it holds is damaged; or that of `each`, which ends it.
    fn each_record(&self, wanted: Records<'_>, each: &mut EachRecord<'_>) -> Result<(), ArchiveError>;

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

    /// Drops what `cleanup` names and what nothing refers to any more, all of it or nothing; or counts it. Small packs are
    /// merged where it drops.
    ///
    /// # Errors
    /// When the store cannot be written. Where only the space could not be given back, what went is gone.
    fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError>;

    /// Writes a part of the store anew, or all of it, which changes nothing of what is read. Returns how many packs there
    /// are fewer.
    ///
    /// # Errors
    /// [`ArchiveError::Locked`] where another process reads what is to go; when a deposit is open, the store cannot be
    /// written, or what it holds is damaged. What was committed stays so.
    fn rewrite(&mut self, what: Rewrite<'_>) -> Result<u64, ArchiveError>;
}

/// A callback that takes the requested records, one after the other.
pub type EachRecord<'a> = dyn FnMut(Record) -> Result<ControlFlow<()>, ArchiveError> + 'a;

/// An entry to put into an archive.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// An object, in the place of an older one of its kind and key; it then counts as the newest.
    Object(&'a Object),
    /// A record, in the place of an older one of its key and kind.
    Record(&'a Record),
    /// An operation. The originals that were put since the last operation, or since the deposit began, are its own. One
    /// that the archive already has, equal in everything, is left as it is.
    Operation(&'a Operation),
    /// An original line and its digest. A line that the archive already has is not stored a second time; that it was
    /// removed once more is noted.
    Original(Digest, &'a Original<'a>),
    /// That a line which the archive has, or which was put in this deposit, was removed: the uuid of its entry, and the digest
    /// of the line that replaced it.
    Removed(LineId, Option<&'a str>, Option<Digest>),
    /// Other bytes for lines, under their ids. What was indexed of them goes, and the next search indexes what they are now.
    MaskedLines(&'a [(LineId, Vec<u8>)]),
    /// Another command, report, and cuts, and other digests, for the operation with this id.
    MaskedOperation(&'a Operation),
    /// The vectors of a model for entries that are indexed; `None` for an entry that has none and is not to be asked for
    /// again. What is no longer there is passed over. Vectors of other models stay.
    Vectors(&'a str, &'a [(DocumentId, Option<Vector>)]),
}

/// The name of an entry to drop from an archive.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// The object of this kind with this key.
    Object(ObjectKind, Digest),
    /// The record of this kind with this key.
    Record(Kind, Digest),
    /// The originals that the operation with this id took out.
    Originals(&'a str),
}

/// Which lines are asked for, by their digests.
#[derive(Clone, Debug)]
pub enum Digests<'a> {
    /// Those with these, in any order.
    Listed(&'a [Digest]),
    /// The first few from one to another, both included, in their order.
    Between(RangeInclusive<Digest>),
}

/// Which records are asked for.
#[derive(Clone, Debug)]
pub enum Records<'a> {
    /// Those that this filter admits, oldest first.
    Matching(&'a RecordFilter<'a>),
    /// Those of these kinds with these keys, as far as they are there, in any order.
    Named(&'a [(Kind, Digest)]),
    /// The first few with a key from one to another, both included, in the order of their keys.
    Between(RangeInclusive<Digest>),
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
    /// All of them, oldest first.
    All,
    /// The first few whose id begins so, in the order of their ids.
    Named(&'a str),
    /// Those recorded for this session, oldest first.
    Of(&'a str),
    /// Those whose output was written to this path, oldest first.
    At(&'a Path),
}

/// What of a store is written anew.
pub enum Rewrite<'a> {
    /// The small packs of lines that many small deposits leave behind, merged so that they take less space. The callback is
    /// asked after each pack whether to write another; each is durable by then.
    SmallPacks(&'a mut dyn FnMut() -> ControlFlow<()>),
    /// All of it, so that no byte is left of what was masked or dropped.
    Everything,
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
