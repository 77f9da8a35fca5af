//! The archive's trait on a `SQLite` database.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::body::{Packer, Unpacker};
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
    unpacker: RefCell<Unpacker>,
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
        Ok(Self { path, reader, unpacker: RefCell::default(), writer: None })
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
        // Holds the random pages of some 100,000 lines' indexes; twice as much saved 4 % more.
        connection.pragma_update(None, "cache_size", -4000).fault(path)?;
        let packer = Packer::new().map_err(|source| ArchiveError::Compress { bytes: 0, source })?;
        Ok(Self { connection, packer, deposit: Deposit::None })
    }

    /// The number of the body with this digest, stored now unless it was there; then older notes that say the
    /// same as `original` go, for a newer one is about to say it.
    fn body(&mut self, digest: Digest, original: &Original<'_>, path: &Path) -> Result<i64, ArchiveError> {
        let find = || {
            let mut find = self.connection.prepare_cached(rows::BODY_ID)?;
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
        let known = self
            .connection
            .query_row(rows::OPERATION_BY_ID, [&operation.id], rows::operation)
            .optional()
            .fault(path)?;
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
        let body = self.all(rows::BODY, [digest.as_bytes()], |row| {
            Ok((row.get::<_, i64>("codec")?, row.get::<_, Vec<u8>>("content")?, rows::length(row, "bytes")?))
        })?;
        let Some((codec, content, bytes)) = body.into_iter().next() else { return Ok(None) };
        let line =
            self.unpacker.borrow_mut().unpack(codec, content, bytes, digest).ok_or_else(|| ArchiveError::Damaged {
                path: self.path.clone(),
                detail: format!("the line {digest} is not what was stored"),
            })?;
        Ok(Some(line))
    }

    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.all(rows::ORIGINALS_BY_UUID, [uuid], rows::original)
    }

    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError> {
        Ok(self.all(rows::ORIGINAL_BY_LINE, [line.as_bytes()], rows::original)?.pop())
    }

    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError> {
        Ok(self.all(rows::OPERATION_BY_OUTPUT, [output.as_bytes()], rows::operation)?.pop())
    }

    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError> {
        self.all(rows::OPERATIONS_BY_SESSION, [session], rows::operation)
    }
}

#[cfg(test)]
impl Sqlite {
    /// From here on waits for other writers next to no time.
    pub(super) fn wait_no_longer(&mut self) -> Result<(), ArchiveError> {
        let writer = self.writer.insert(Writer::open(&self.path)?);
        writer.connection.busy_timeout(std::time::Duration::from_millis(20)).fault(&self.path)
    }

    /// How the database goes about `sql`.
    pub(super) fn query_plan(&self, sql: &str) -> Result<Vec<String>, ArchiveError> {
        self.all(&format!("EXPLAIN QUERY PLAN {sql}"), [b""], |row| row.get("detail"))
    }
}
