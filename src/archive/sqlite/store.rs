//! The archive's trait on a `SQLite` database.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::body::{Packer, unpack};
use super::connect;
use super::fault::Fault;
use super::rows;
use crate::archive::{Archive, ArchiveError, Operation, Original, StoredOriginal};
use crate::text::Digest;

/// An archive in a `SQLite` database.
pub(in crate::archive) struct Sqlite {
    path: PathBuf,
    /// Only reads. It is another connection than the writer's, so that it sees only what is committed.
    reader: Connection,
    writer: Option<Writer>,
}

/// The connection that writes, and what it reuses from put to put.
struct Writer {
    connection: Connection,
    packer: Packer,
    deposit: Deposit,
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

impl Sqlite {
    /// The archive in the file at `path`, made where there is none yet.
    ///
    /// # Errors
    /// When it cannot be made or opened, or is no archive of this version.
    pub(in crate::archive) fn open(path: &Path) -> Result<Self, ArchiveError> {
        // Absolute, because SQLite takes names such as `:memory:` for something else than a file.
        let path =
            std::path::absolute(path).map_err(|source| ArchiveError::Create { path: path.to_owned(), source })?;
        let reader = connect::open(&path)?;
        Ok(Self { path, reader, writer: None })
    }

    /// Runs one put within the deposit's transaction, which it opens if need be.
    fn put<T>(&mut self, put: impl FnOnce(&mut Writer, &Path) -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
        if self.writer.is_none() {
            self.writer = Some(Writer::open(&self.path)?);
        }
        let Some(writer) = &mut self.writer else { return Err(ArchiveError::BrokenDeposit) };
        match writer.deposit {
            Deposit::None => writer.connection.execute_batch("BEGIN IMMEDIATE").fault(&self.path)?,
            Deposit::Open => {}
            Deposit::Broken => return Err(ArchiveError::BrokenDeposit),
        }
        let result = put(writer, &self.path);
        writer.deposit = if result.is_ok() { Deposit::Open } else { Deposit::Broken };
        result
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        record: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ArchiveError> {
        let read = || self.reader.prepare_cached(sql)?.query_map(params, record)?.collect::<Result<_, _>>();
        read().fault(&self.path)
    }
}

impl Writer {
    fn open(path: &Path) -> Result<Self, ArchiveError> {
        let connection = connect::connect(path)?;
        let packer = Packer::new().map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
        Ok(Self { connection, packer, deposit: Deposit::None })
    }

    /// The number of the body with this digest, stored now unless it was there; then older notes that say the
    /// same as `original` go, for a newer one is about to say it.
    fn body(&mut self, digest: Digest, original: &Original<'_>, path: &Path) -> Result<i64, ArchiveError> {
        let find = || {
            let mut find = self.connection.prepare_cached("SELECT id FROM body WHERE digest = ?")?;
            let Some(id) = find.query_row([digest.as_bytes()], |row| row.get(0)).optional()? else { return Ok(None) };
            self.connection
                .prepare_cached("DELETE FROM original WHERE body = ? AND uuid IS ? AND replaced_by IS ?")?
                .execute(params![id, original.uuid, original.replaced_by.as_ref().map(Digest::as_bytes)])?;
            Ok(Some(id))
        };
        if let Some(id) = find().fault(path)? {
            return Ok(id);
        }
        let bytes = original.line.len();
        let (codec, content) =
            self.packer.pack(original.line).map_err(|source| ArchiveError::Compress { bytes, source })?;
        let insert = || {
            self.connection
                .prepare_cached("INSERT INTO body (digest, bytes, codec, content) VALUES (?, ?, ?, ?)")?
                .insert(params![digest.as_bytes(), rows::to_signed(bytes as u64), codec, content])
        };
        insert().fault(path)
    }

    fn put_original(&mut self, original: &Original<'_>, path: &Path) -> Result<Digest, ArchiveError> {
        let digest = Digest::of(original.line);
        let body = self.body(digest, original, path)?;
        let insert = || {
            self.connection
                .prepare_cached("INSERT INTO original (body, uuid, replaced_by) VALUES (?, ?, ?)")?
                .execute(params![body, original.uuid, original.replaced_by.as_ref().map(Digest::as_bytes)])
        };
        insert().fault(path)?;
        Ok(digest)
    }

    fn put_operation(&mut self, operation: &Operation, path: &Path) -> Result<(), ArchiveError> {
        let sql = format!("{} WHERE id = ?", rows::OPERATIONS);
        let known = self.connection.query_row(&sql, [&operation.id], rows::operation).optional().fault(path)?;
        match known {
            Some(known) if known == *operation => Ok(()),
            Some(_) => Err(ArchiveError::DuplicateOperation { id: operation.id.clone() }),
            None => {
                let mut insert = self.connection.prepare(rows::INSERT_OPERATION).fault(path)?;
                rows::insert_operation(&mut insert, operation).fault(path)
            }
        }
    }
}

impl Archive for Sqlite {
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.put(|writer, path| writer.put_original(original, path))
    }

    fn put_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError> {
        self.put(|writer, path| writer.put_operation(operation, path))
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        match writer.deposit {
            Deposit::None => Ok(()),
            Deposit::Broken => Err(ArchiveError::BrokenDeposit),
            Deposit::Open => {
                let committed = writer.connection.execute_batch("COMMIT").fault(&self.path);
                writer.deposit = if committed.is_ok() { Deposit::None } else { Deposit::Broken };
                committed
            }
        }
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        // SQLite itself may have rolled back, when the disk was full.
        if !writer.connection.is_autocommit() {
            writer.connection.execute_batch("ROLLBACK").fault(&self.path)?;
        }
        writer.deposit = Deposit::None;
        Ok(())
    }

    fn line(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
        let sql = "SELECT codec, content, bytes FROM body WHERE digest = ?";
        let body = self.all(sql, [digest.as_bytes()], |row| {
            Ok((row.get::<_, i64>("codec")?, row.get::<_, Vec<u8>>("content")?, rows::length(row, "bytes")?))
        })?;
        let Some((codec, content, bytes)) = body.into_iter().next() else { return Ok(None) };
        let line = unpack(codec, content, bytes, digest).ok_or_else(|| ArchiveError::Damaged {
            path: self.path.clone(),
            detail: format!("the line {digest} is not what was stored"),
        })?;
        Ok(Some(line))
    }

    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        let sql = format!("{} WHERE original.uuid = ? ORDER BY original.seq DESC", rows::ORIGINALS);
        self.all(&sql, [uuid], rows::original)
    }

    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError> {
        let sql = format!("{} WHERE original.replaced_by = ? ORDER BY original.seq DESC LIMIT 1", rows::ORIGINALS);
        Ok(self.all(&sql, [line.as_bytes()], rows::original)?.pop())
    }

    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError> {
        let sql = format!("{} WHERE output_digest = ? ORDER BY seq DESC LIMIT 1", rows::OPERATIONS);
        Ok(self.all(&sql, [output.as_bytes()], rows::operation)?.pop())
    }

    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError> {
        let sql = format!("{} WHERE session = ? ORDER BY seq", rows::OPERATIONS);
        self.all(&sql, [session], rows::operation)
    }
}

#[cfg(test)]
impl Sqlite {
    /// Puts `line` but waits for other writers no longer than `wait`.
    pub(super) fn put_after(&mut self, wait: std::time::Duration, line: &[u8]) -> Result<Digest, ArchiveError> {
        let writer = Writer::open(&self.path)?;
        writer.connection.busy_timeout(wait).fault(&self.path)?;
        let put = self.writer.insert(writer).connection.execute_batch("BEGIN IMMEDIATE").fault(&self.path);
        self.writer = None;
        put.map(|()| Digest::of(line))
    }
}
