//! The connection that writes, and the deposit that is open on it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::connect;
use super::fault::{Fault, WAIT_SECONDS};
use super::row::{length, to_signed};
use super::{index, lines, objects, operations, originals, packs, records, replace, sweep, vectors};
use crate::body::{PACKED, Packer};
use crate::pack::{OpenPack, place};
use crate::{
    ArchiveError, Cleanup, DocumentId, Dropped, Kind, LineId, Object, ObjectKind, Operation, Original, Reader,
    RecipeStep, Record, Sweep, Vector,
};
use ctxc_transcript::text::Digest;

/// The connection that writes, and what it reuses from put to put.
pub(super) struct Writer {
    path: PathBuf,
    connection: Connection,
    packer: Packer,
    packs: Packer,
    deposit: Deposit,
    /// The numbers of the first and the last original that wait for their operation.
    waiting: Option<(i64, i64)>,
    /// The number of the next line, known while a deposit that has lines is open: nobody else takes it, for a deposit keeps
    /// all other writers out.
    next_line: Option<u64>,
    /// The pack that lines go into, and its number.
    pack: Option<(u64, OpenPack)>,
}

/// What has been put since the last commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deposit {
    /// Nothing; no transaction is open.
    None,
    /// Something, in a transaction.
    Open,
    /// A put failed.
    Broken,
}

impl Writer {
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let connection = connect::connect(path)?;
        // Holds the random pages of some 100,000 lines' indexes; twice as much saved 4 % more.
        connection.pragma_update(None, "cache_size", -4000).fault(path)?;
        let packer = Packer::new().map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
        let packs = Packer::for_packs().map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            packer,
            packs,
            deposit: Deposit::None,
            waiting: None,
            next_line: None,
            pack: None,
        })
    }

    /// Runs one put within the deposit's transaction, which it opens if need be.
    pub(super) fn put<T>(&mut self, put: impl FnOnce(&mut Self) -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
        self.check_whole()?;
        if self.deposit == Deposit::None {
            self.connection.execute_batch("BEGIN IMMEDIATE").fault(&self.path)?;
        }
        let result = put(self);
        self.deposit = if result.is_ok() { Deposit::Open } else { Deposit::Broken };
        result
    }

    pub(super) fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        let digest = Digest::of(original.line);
        let body = self.body(digest, original.line)?;
        let insert = || {
            let replaced_by = original.replaced_by.as_ref().map(Digest::as_bytes);
            self.connection.prepare_cached(originals::INSERT)?.insert(params![body, original.uuid, replaced_by])
        };
        let seq = insert().fault(&self.path)?;
        self.waiting = Some((self.waiting.map_or(seq, |(first, _)| first), seq));
        Ok(digest)
    }

    pub(super) fn put_operation(&mut self, operation: &Operation, recipe: &[RecipeStep]) -> Result<(), ArchiveError> {
        let known = || {
            let known = self.connection.query_row(operations::BY_ID, [&operation.id], operations::operation);
            let Some(known) = known.optional()? else { return Ok(None) };
            let known_recipe = self.connection.query_row(operations::RECIPE, [&operation.id], operations::recipe)?;
            Ok(Some(known == *operation && known_recipe == recipe))
        };
        match known().fault(&self.path)? {
            Some(true) => Ok(()),
            Some(false) => Err(ArchiveError::DuplicateOperation { id: operation.id.clone() }),
            None => operations::insert(&self.connection, operation, recipe, self.waiting.take()).fault(&self.path),
        }
    }

    pub(super) fn put_record(&mut self, record: &Record) -> Result<(), ArchiveError> {
        records::insert(&self.connection, &mut self.packer, record).fault(&self.path)
    }

    pub(super) fn drop_record(&mut self, kind: Kind, key: Digest) -> Result<(), ArchiveError> {
        records::delete(&self.connection, kind, key).fault(&self.path)
    }

    pub(super) fn put_lines(&mut self, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError> {
        lines.iter().map(|(digest, line)| self.put_line(*digest, line)).collect()
    }

    pub(super) fn put_object(&mut self, object: &Object) -> Result<(), ArchiveError> {
        if let Some(LineId(id)) = objects::missing_line(&self.connection, &object.lines).fault(&self.path)? {
            return Err(ArchiveError::NoSuchLine { id });
        }
        objects::insert(&self.connection, &mut self.packer, object).fault(&self.path)
    }

    pub(super) fn drop_object(&mut self, kind: ObjectKind, key: Digest) -> Result<(), ArchiveError> {
        objects::delete(&self.connection, kind, key).fault(&self.path)
    }

    pub(super) fn drop_originals(&mut self, operation: &str) -> Result<(), ArchiveError> {
        let drop = || self.connection.prepare_cached(originals::DROP)?.execute([operation]);
        drop().map(|_| ()).fault(&self.path)
    }

    pub(super) fn replace_lines(&mut self, lines: &[(LineId, Vec<u8>)]) -> Result<(), ArchiveError> {
        self.close_pack()?;
        for (LineId(id), line) in lines {
            let replaced = replace::line(&self.connection, &mut self.packer, to_signed(*id), line).fault(&self.path)?;
            if !replaced {
                return Err(ArchiveError::NoSuchLine { id: *id });
            }
        }
        replace::packs(&self.connection, lines).fault(&self.path)
    }

    pub(super) fn replace_operation(&self, operation: &Operation) -> Result<(), ArchiveError> {
        operations::replace(&self.connection, operation).fault(&self.path)
    }

    pub(super) fn erase(&mut self) -> Result<(), ArchiveError> {
        self.check_free()?;
        let is_whole = replace::erase(&self.connection).fault(&self.path)?;
        if is_whole { Ok(()) } else { Err(ArchiveError::Locked { path: self.path.clone(), seconds: WAIT_SECONDS }) }
    }

    pub(super) fn merge_packs(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64, ArchiveError> {
        self.check_free()?;
        packs::merge(&self.connection, go_on).fault(&self.path)
    }

    /// Brings the index up to date.
    pub(super) fn index(
        &self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError> {
        self.check_free()?;
        index::catch_up(&self.connection, read, progress).fault(&self.path)
    }

    pub(super) fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError> {
        self.check_free()?;
        sweep::sweep(&self.connection, cleanup, sweep).fault(&self.path)
    }

    pub(super) fn put_vectors(
        &self,
        model: &str,
        new: &[(DocumentId, Option<Vector>)],
    ) -> Result<vectors::Kept, ArchiveError> {
        self.check_free()?;
        vectors::put(&self.connection, model, new).fault(&self.path)
    }

    /// Refuses what cannot be part of a deposit while one is open.
    fn check_free(&self) -> Result<(), ArchiveError> {
        if self.deposit == Deposit::None { Ok(()) } else { Err(ArchiveError::OpenDeposit) }
    }

    /// Refuses to go on with a deposit of which a part failed.
    pub(super) const fn check_whole(&self) -> Result<(), ArchiveError> {
        match self.deposit {
            Deposit::None | Deposit::Open => Ok(()),
            Deposit::Broken => Err(ArchiveError::BrokenDeposit),
        }
    }

    pub(super) fn commit(&mut self) -> Result<(), ArchiveError> {
        self.check_whole()?;
        if self.deposit == Deposit::None {
            return Ok(());
        }
        let committed = self.close_pack().and_then(|()| self.connection.execute_batch("COMMIT").fault(&self.path));
        self.deposit = if committed.is_ok() { Deposit::None } else { Deposit::Broken };
        self.forget();
        committed
    }

    pub(super) fn rollback(&mut self) -> Result<(), ArchiveError> {
        // SQLite itself may have rolled back, when the disk was full.
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").fault(&self.path)?;
        }
        self.deposit = Deposit::None;
        self.forget();
        Ok(())
    }

    /// Forgets what holds for one deposit alone.
    fn forget(&mut self) {
        self.waiting = None;
        self.next_line = None;
        self.pack = None;
    }

    /// The number of the body with this digest, stored now unless it was there.
    fn body(&mut self, digest: Digest, line: &[u8]) -> Result<i64, ArchiveError> {
        if let Some((id, _)) = self.known(digest)? {
            return Ok(id);
        }
        let id = self.next_line()?;
        let bytes = line.len();
        let (codec, content) = self.packer.pack(line).map_err(|source| ArchiveError::Compress { bytes, source })?;
        insert_body(&self.connection, id, digest, bytes, (codec, content)).fault(&self.path)?;
        Ok(to_signed(id))
    }

    /// Adds a line to the open pack, unless it is in one already. One that an operation took out by itself moves there.
    fn put_line(&mut self, digest: Digest, line: &[u8]) -> Result<LineId, ArchiveError> {
        let known = self.known(digest)?;
        if let Some((id, PACKED)) = known {
            return Ok(LineId(id.cast_unsigned()));
        }
        let pack = self.pack_for(line)?;
        let content = place(pack);
        let id = if let Some((id, _)) = known {
            let move_body = || self.connection.prepare_cached(lines::MOVE_BODY)?.execute(params![id, PACKED, content]);
            move_body().fault(&self.path)?;
            id.cast_unsigned()
        } else {
            let id = self.next_line()?;
            insert_body(&self.connection, id, digest, line.len(), (PACKED, &content)).fault(&self.path)?;
            id
        };
        if let Some((_, open)) = &mut self.pack {
            open.add(LineId(id), line);
        }
        Ok(LineId(id))
    }

    /// Opens a pack that has room for a line, unless it is open; its number. The newest one is gone on with while it is
    /// small, so that many small deposits leave as few packs as a large one.
    fn pack_for(&mut self, line: &[u8]) -> Result<u64, ArchiveError> {
        if self.pack.is_none() {
            self.pack = packs::newest_small(&self.connection).fault(&self.path)?;
        }
        if let Some((id, pack)) = &self.pack
            && pack.has_room_for(line.len())
        {
            return Ok(*id);
        }
        self.close_pack()?;
        let id = packs::next(&self.connection).fault(&self.path)?;
        self.pack = Some((id, OpenPack::default()));
        Ok(id)
    }

    /// Writes the open pack, where there is one.
    fn close_pack(&mut self) -> Result<(), ArchiveError> {
        let Some((id, pack)) = self.pack.take() else { return Ok(()) };
        packs::insert(&self.connection, &mut self.packs, id, pack).map(drop).fault(&self.path)
    }

    /// The number and the codec of the body with this digest.
    fn known(&self, digest: Digest) -> Result<Option<(i64, i64)>, ArchiveError> {
        let find = || {
            let mut find = self.connection.prepare_cached(lines::BODY_ID)?;
            find.query_row([digest.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        find().fault(&self.path)
    }

    fn next_line(&mut self) -> Result<u64, ArchiveError> {
        let next = match self.next_line {
            Some(next) => next,
            None => 1 + self.connection.query_row(lines::LAST_LINE, [], |row| length(row, "last")).fault(&self.path)?,
        };
        self.next_line = Some(next + 1);
        Ok(next)
    }
}

fn insert_body(
    connection: &Connection,
    id: u64,
    digest: Digest,
    bytes: usize,
    (codec, content): (i64, &[u8]),
) -> rusqlite::Result<()> {
    let values = params![to_signed(id), digest.as_bytes(), to_signed(bytes as u64), codec, content];
    connection.prepare_cached(lines::INSERT_BODY)?.execute(values).map(drop)
}

#[cfg(test)]
impl Writer {
    /// From here on waits for other writers next to no time.
    pub(super) fn wait_no_longer(&self) -> Result<(), ArchiveError> {
        self.connection.busy_timeout(std::time::Duration::from_millis(20)).fault(&self.path)
    }
}
