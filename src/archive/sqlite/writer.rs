//! The connection that writes, and the deposit that is open on it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::connect;
use super::fault::Fault;
use super::row::to_signed;
use super::{index, operations, originals, records, sweep, vectors};
use crate::archive::body::Packer;
use crate::archive::{
    ArchiveError, Cleanup, DocumentId, Dropped, Kind, Operation, Original, Reader, RecipeStep, Record, Sweep, Vector,
};
use crate::text::Digest;

/// The connection that writes, and what it reuses from put to put.
pub(super) struct Writer {
    path: PathBuf,
    connection: Connection,
    packer: Packer,
    deposit: Deposit,
    /// The numbers of the first and the last original that wait for their operation.
    waiting: Option<(i64, i64)>,
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
        Ok(Self { path: path.to_owned(), connection, packer, deposit: Deposit::None, waiting: None })
    }

    /// Runs one put within the deposit's transaction, which it opens if need be.
    pub(super) fn put<T>(&mut self, put: impl FnOnce(&mut Self) -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
        match self.deposit {
            Deposit::None => self.connection.execute_batch("BEGIN IMMEDIATE").fault(&self.path)?,
            Deposit::Open => {}
            Deposit::Broken => return Err(ArchiveError::BrokenDeposit),
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

    /// Brings the index up to date.
    pub(super) fn index(
        &self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError> {
        self.check_free()?;
        index::catch_up(&self.connection, read, progress).fault(&self.path)
    }

    pub(super) fn sweep(&self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError> {
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

    pub(super) fn commit(&mut self) -> Result<(), ArchiveError> {
        match self.deposit {
            Deposit::None => Ok(()),
            Deposit::Broken => Err(ArchiveError::BrokenDeposit),
            Deposit::Open => {
                let committed = self.connection.execute_batch("COMMIT").fault(&self.path);
                self.deposit = if committed.is_ok() { Deposit::None } else { Deposit::Broken };
                self.waiting = None;
                committed
            }
        }
    }

    pub(super) fn rollback(&mut self) -> Result<(), ArchiveError> {
        // SQLite itself may have rolled back, when the disk was full.
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").fault(&self.path)?;
        }
        self.deposit = Deposit::None;
        self.waiting = None;
        Ok(())
    }

    /// The number of the body with this digest, stored now unless it was there.
    fn body(&mut self, digest: Digest, line: &[u8]) -> Result<i64, ArchiveError> {
        let find = || {
            let mut find = self.connection.prepare_cached(originals::BODY_ID)?;
            find.query_row([digest.as_bytes()], |row| row.get(0)).optional()
        };
        if let Some(id) = find().fault(&self.path)? {
            return Ok(id);
        }
        let bytes = line.len();
        let (codec, content) = self.packer.pack(line).map_err(|source| ArchiveError::Compress { bytes, source })?;
        let insert = || {
            let values = params![digest.as_bytes(), to_signed(bytes as u64), codec, content];
            self.connection.prepare_cached(originals::INSERT_BODY)?.insert(values)
        };
        insert().fault(&self.path)
    }
}

#[cfg(test)]
impl Writer {
    /// From here on waits for other writers next to no time.
    pub(super) fn wait_no_longer(&self) -> Result<(), ArchiveError> {
        self.connection.busy_timeout(std::time::Duration::from_millis(20)).fault(&self.path)
    }
}
