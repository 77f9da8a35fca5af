//! The archive's trait on a `SQLite` database.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Params, Row, params};

use super::body::Unpacker;
use super::connect;
use super::fault::Fault;
use super::row::{length, path_value, to_signed};
use super::writer::Writer;
use super::{operations, originals};
use crate::archive::prefix::{self, AT_MOST};
use crate::archive::{Archive, ArchiveError, Operation, Original, Output, RecipeStep, StoredOriginal};
use crate::text::Digest;

/// An archive in a `SQLite` database.
pub(in crate::archive) struct Sqlite {
    path: PathBuf,
    /// Only reads. It is another connection than the writer's, so that it sees only what is committed.
    reader: Connection,
    unpacker: RefCell<Unpacker>,
    writer: Option<Writer>,
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

    /// The writer, opened when something is put for the first time.
    fn writer(&mut self) -> Result<&mut Writer, ArchiveError> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => Writer::open(&self.path)?,
        };
        Ok(self.writer.insert(writer))
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

impl Archive for Sqlite {
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.writer()?.put(|writer| writer.put_original(original))
    }

    fn put_operation(&mut self, operation: &Operation, recipe: &[RecipeStep]) -> Result<(), ArchiveError> {
        self.writer()?.put(|writer| writer.put_operation(operation, recipe))
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.writer.as_mut().map_or(Ok(()), Writer::commit)
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        self.writer.as_mut().map_or(Ok(()), Writer::rollback)
    }

    fn line(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
        let body = self.all(originals::BODY, [digest.as_bytes()], |row| {
            Ok((row.get::<_, i64>("codec")?, row.get::<_, Vec<u8>>("content")?, length(row, "bytes")?))
        })?;
        let Some((codec, content, bytes)) = body.into_iter().next() else { return Ok(None) };
        let line =
            self.unpacker.borrow_mut().unpack(codec, content, bytes, digest).ok_or_else(|| ArchiveError::Damaged {
                path: self.path.clone(),
                detail: format!("the line {digest} is not what was stored"),
            })?;
        Ok(Some(line))
    }

    fn lines_by_prefix(&self, prefix: &str) -> Result<Vec<Digest>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let params = params![range.start().as_bytes(), range.end().as_bytes(), to_signed(AT_MOST as u64)];
        self.all(originals::DIGESTS, params, |row| Ok(Digest::from_bytes(row.get(0)?)))
    }

    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.all(originals::BY_UUID, [uuid], originals::original)
    }

    fn originals_by_operation(&self, id: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.all(originals::BY_OPERATION, [id], originals::original)
    }

    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError> {
        Ok(self.all(originals::BY_LINE, [line.as_bytes()], originals::original)?.pop())
    }

    fn operation(&self, id: &str) -> Result<Option<Operation>, ArchiveError> {
        let found = self.all(operations::BY_PREFIX, params![id, to_signed(AT_MOST as u64)], operations::operation)?;
        prefix::only(id, found)
    }

    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError> {
        Ok(self.all(operations::BY_OUTPUT, [output.as_bytes()], operations::operation)?.pop())
    }

    fn operation_before(&self, id: &str, output: Output<'_>) -> Result<Option<Operation>, ArchiveError> {
        let mut found = match output {
            Output::Digest(digest) => {
                self.all(operations::BEFORE_BY_OUTPUT, params![digest.as_bytes(), id], operations::operation)
            }
            Output::Beginning(path, at_most) => {
                let params = params![path_value(path), id, to_signed(at_most)];
                self.all(operations::BEFORE_BY_PATH, params, operations::operation)
            }
        }?;
        Ok(found.pop())
    }

    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError> {
        self.all(operations::BY_SESSION, [session], operations::operation)
    }

    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError> {
        Ok(self.all(operations::RECIPE, [id], operations::recipe)?.pop())
    }
}

#[cfg(test)]
impl Sqlite {
    /// From here on waits for other writers next to no time.
    pub(super) fn wait_no_longer(&mut self) -> Result<(), ArchiveError> {
        self.writer()?.wait_no_longer()
    }

    /// How the database goes about `sql`.
    pub(super) fn query_plan(&self, sql: &str) -> Result<Vec<String>, ArchiveError> {
        let read = || {
            let mut statement = self.reader.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            statement.raw_query().mapped(|row| row.get("detail")).collect::<Result<_, _>>()
        };
        read().fault(&self.path)
    }
}
