//! The store, and the deposit that is open on it.

use std::cell::RefCell;

use super::known_lines::KnownLines;
use super::lines::Lines;
use super::link::{Hold, Link};
use super::packing::{Digested, Packing, put_alone};
use super::read_back::WrittenPacks;
use super::value::Value;
use super::{objects, operations, records, replace, vectors};
use crate::body::{Packer, USUAL};
use crate::{ArchiveError, Entry, LineId, Name, Original, Record};
use ctxc_transcript::text::Digest;

/// The number of originals and records, and of their bytes, that are stored at a time. Storing each alone would cost a round
/// trip to a server.
const MOST_ROWS: usize = 1000;
const MOST_BYTES: usize = 4 << 20;

/// An archive in a database.
pub(crate) struct Store {
    /// Only reads. It is another connection than the writer's, so that it sees only what is committed.
    pub(crate) reader: Box<dyn Link>,
    /// Opened when something is put for the first time.
    pub(crate) writer: Box<dyn Link>,
    pub(super) lines: RefCell<Lines>,
    deposit: Deposit,
    gathered: Gathered,
    packer: Packer,
    /// The first and the last id of the originals that wait for their operation.
    part: Option<(i64, i64)>,
    /// The pack that lines go into.
    packing: Option<Packing>,
    /// The packs that this store has written.
    pub(super) written: WrittenPacks,
    known: KnownLines,
}

/// The state of the deposit since the last commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deposit {
    /// Nothing; no transaction is open.
    None,
    /// Something, in a transaction.
    Open,
    /// A put failed.
    Broken,
}

/// Entries that were put and are not sent yet.
#[derive(Default)]
struct Gathered {
    originals: Vec<RemovedLine>,
    records: Vec<Record>,
    n_bytes: usize,
}

/// A line that was removed.
struct RemovedLine {
    place: RemovedPlace,
    uuid: Value,
    /// The digest of the line that replaced it.
    replaced_by: Value,
}

/// The place of a removed line.
enum RemovedPlace {
    /// In the archive.
    Stored(LineId),
    /// Here, to be stored.
    Here(Digest, Vec<u8>),
}

impl Store {
    pub(crate) fn new(reader: Box<dyn Link>, writer: Box<dyn Link>) -> Self {
        Self {
            reader,
            writer,
            lines: RefCell::default(),
            deposit: Deposit::None,
            gathered: Gathered::default(),
            packer: Packer::new(USUAL),
            part: None,
            packing: None,
            written: WrittenPacks::default(),
            known: KnownLines::default(),
        }
    }

    /// Carries out `put` as a part of the deposit, which is opened if need be; when it fails, all of the deposit is lost.
    pub(super) fn put_with<T>(
        &mut self,
        put: impl FnOnce(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        self.open(Hold::Drops)?;
        let done = put(self);
        if done.is_err() {
            self.deposit = Deposit::Broken;
        }
        done
    }

    /// Opens the deposit, unless it is open; whether it was just now.
    fn open(&mut self, hold: Hold) -> Result<bool, ArchiveError> {
        self.check_whole()?;
        let is_new = self.deposit == Deposit::None;
        if is_new {
            self.reader.pin()?;
            self.writer.begin(hold)?;
            self.known.expire();
            self.deposit = Deposit::Open;
        }
        Ok(is_new)
    }

    /// Keeps all other deposits out until this one ends. Two that are open and wait for that both wait for each other.
    pub(super) fn hold_all(&mut self) -> Result<(), ArchiveError> {
        if self.open(Hold::All)? { Ok(()) } else { self.put_with(|store| store.writer.claim()) }
    }

    /// Carries out `put` behind what was gathered, for the last word counts.
    pub(super) fn put_behind<T>(
        &mut self,
        put: impl FnOnce(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        self.put_with(|store| {
            store.send()?;
            put(store)
        })
    }

    pub(super) fn put_entry(&mut self, entry: Entry<'_>) -> Result<(), ArchiveError> {
        match entry {
            Entry::Original(digest, Original { line, uuid, replaced_by }) => self.put_with(|store| {
                store.gathered.n_bytes += line.len();
                let place = RemovedPlace::Here(digest, line.to_vec());
                let (uuid, replaced_by) = ((*uuid).into(), (*replaced_by).into());
                store.gathered.originals.push(RemovedLine { place, uuid, replaced_by });
                store.send_much()
            }),
            Entry::Removed(line, uuid, replaced_by) => self.put_with(|store| {
                let (place, uuid, replaced_by) = (RemovedPlace::Stored(line), uuid.into(), replaced_by.into());
                store.gathered.originals.push(RemovedLine { place, uuid, replaced_by });
                store.send_much()
            }),
            Entry::Record(record) => self.put_with(|store| {
                store.gathered.n_bytes += record.document.text.len();
                store.gathered.records.push(record.clone());
                store.send_much()
            }),
            Entry::Operation(operation) => self.put_behind(|store| {
                if operations::put(&*store.writer, operation, store.part)? {
                    store.part = None;
                }
                Ok(())
            }),
            Entry::Object(object) => self.put_with(|store| objects::put(&*store.writer, &mut store.packer, object)),
            Entry::MaskedLines(lines) => {
                // The packs that are held have what was there, and lines get other digests.
                self.lines.take();
                self.known = KnownLines::default();
                self.put_behind(|store| {
                    store.close_pack()?;
                    replace::lines(&*store.writer, lines)
                })
            }
            Entry::MaskedOperation(operation) => {
                self.put_behind(|store| operations::replace(&*store.writer, operation))
            }
            Entry::Vectors(model, vectors) => self.put_behind(|store| vectors::put(&*store.writer, model, vectors)),
        }
    }

    pub(super) fn drop_entry(&mut self, name: Name<'_>) -> Result<(), ArchiveError> {
        self.put_behind(|store| match name {
            Name::Object(kind, key) => objects::drop(&*store.writer, kind, key),
            Name::Record(kind, key) => records::drop(&*store.writer, kind, key),
            Name::Originals(id) => operations::drop_originals(&*store.writer, id).map(|_| ()),
        })
    }

    /// Puts lines into the pack that is open, or a new one; their ids.
    pub(super) fn pack(&mut self, lines: &[Digested<'_>]) -> Result<Vec<LineId>, ArchiveError> {
        let db = &*self.writer;
        let packing = match self.packing.take() {
            Some(packing) => packing,
            None => Packing::begin(db)?,
        };
        self.packing.insert(packing).put(db, &mut self.known, lines)
    }

    /// Stores the pack that is open, so that it can be changed where it lies.
    pub(super) fn close_pack(&mut self) -> Result<(), ArchiveError> {
        let Some(mut packing) = self.packing.take() else { return Ok(()) };
        packing.close(&*self.writer)?;
        self.written.add(packing.written);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), ArchiveError> {
        self.check_whole()?;
        if self.deposit == Deposit::None {
            return Ok(());
        }
        self.reader.release()?;
        let done = self.send().and_then(|()| self.close_pack()).and_then(|()| self.writer.commit());
        self.deposit = if done.is_ok() { Deposit::None } else { Deposit::Broken };
        self.forget();
        done
    }

    pub(super) fn undo(&mut self) -> Result<(), ArchiveError> {
        self.reader.release()?;
        if self.deposit != Deposit::None {
            self.writer.rollback()?;
        }
        self.deposit = Deposit::None;
        // The ids of lines that were rolled back are given again.
        self.known = KnownLines::default();
        self.forget();
        Ok(())
    }

    /// The connection that writes, for what cannot be part of a deposit.
    pub(super) fn free(&self) -> Result<&dyn Link, ArchiveError> {
        if self.deposit == Deposit::None { Ok(&*self.writer) } else { Err(ArchiveError::OpenDeposit) }
    }

    /// Refuses to go on with a deposit of which a part failed.
    const fn check_whole(&self) -> Result<(), ArchiveError> {
        match self.deposit {
            Deposit::None | Deposit::Open => Ok(()),
            Deposit::Broken => Err(ArchiveError::BrokenDeposit),
        }
    }

    /// Forgets what holds for one deposit alone.
    fn forget(&mut self) {
        self.gathered = Gathered::default();
        self.part = None;
        self.packing = None;
    }

    /// Sends what was gathered, once it is much.
    fn send_much(&mut self) -> Result<(), ArchiveError> {
        let Gathered { originals, records, n_bytes, .. } = &self.gathered;
        let is_much = originals.len() + records.len() >= MOST_ROWS || *n_bytes >= MOST_BYTES;
        if is_much { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), ArchiveError> {
        let Gathered { originals, records, .. } = std::mem::take(&mut self.gathered);
        if !originals.is_empty() {
            let here = originals.iter().filter_map(|removed| match &removed.place {
                RemovedPlace::Here(digest, line) => Some((*digest, line.as_slice())),
                RemovedPlace::Stored(_) => None,
            });
            let lines: Vec<Digested<'_>> = here.collect();
            let mut ids = put_alone(&*self.writer, &mut self.known, &mut self.packer, &lines)?.into_iter();
            let row = |RemovedLine { place, uuid, replaced_by }| {
                let id = match place {
                    RemovedPlace::Stored(id) => id,
                    RemovedPlace::Here(..) => ids.next()?,
                };
                Some(vec![id.into(), uuid, replaced_by])
            };
            let rows = originals.into_iter().filter_map(row).collect();
            operations::put_originals(&*self.writer, rows, &mut self.part)?;
        }
        records::put(&*self.writer, &mut self.packer, records)
    }
}

#[cfg(test)]
impl std::ops::Deref for Store {
    type Target = dyn crate::Archive;

    fn deref(&self) -> &Self::Target {
        self
    }
}

#[cfg(test)]
impl std::ops::DerefMut for Store {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self
    }
}
