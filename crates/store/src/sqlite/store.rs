//! The archive's trait on a `SQLite` database.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::connect;
use super::fault::Fault;
use super::lines::{Line, Lines};
use super::row::{length, path_value, to_signed};
use super::writer::Writer;
use super::{index, lines, objects, operations, originals, records, search, vectors};
use crate::prefix;
use crate::prefix::AT_MOST;
use crate::{
    Archive, ArchiveError, Cleanup, Contents, DocumentId, Dropped, EachLine, Hit, Kind, LineId, Object, ObjectKind,
    Operation, Original, Output, Query, Reader, RecipeStep, Record, RecordFilter, StoredOriginal, Sweep, Vector,
    other_dimension,
};
use ctxc_transcript::text::Digest;

const CONTENTS: &str = "SELECT (SELECT count(*) FROM operation) AS operations,
    (SELECT count(*) FROM original) AS originals, (SELECT count(*) FROM body) AS lines,
    (SELECT coalesce(sum(bytes), 0) FROM body) AS line_bytes, (SELECT count(*) FROM record) AS records";

/// An archive in a `SQLite` database.
pub(crate) struct Sqlite {
    pub(super) path: PathBuf,
    /// Only reads. It is another connection than the writer's, so that it sees only what is committed.
    pub(super) reader: Connection,
    pub(super) lines: RefCell<Lines>,
    writer: Option<Writer>,
}

impl Sqlite {
    /// The archive in the file at `path`, made where there is none yet.
    ///
    /// # Errors
    /// When it cannot be made or opened, or is no archive of this version.
    pub(crate) fn open(path: &Path) -> Result<Self, ArchiveError> {
        // Absolute, because SQLite takes names such as `:memory:` for something else than a file.
        let path =
            std::path::absolute(path).map_err(|source| ArchiveError::Create { path: path.to_owned(), source })?;
        let reader = connect::open(&path)?;
        Ok(Self { path, reader, lines: RefCell::default(), writer: None })
    }

    /// An archive in memory, gone when it is dropped.
    ///
    /// # Errors
    /// When the database cannot be made.
    pub(crate) fn in_memory() -> Result<Self, ArchiveError> {
        let (path, reader) = connect::open_in_memory()?;
        Ok(Self { path, reader, lines: RefCell::default(), writer: None })
    }

    /// Does what is part of a deposit.
    fn put<T>(&mut self, put: impl FnOnce(&mut Writer) -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
        // A database in memory has no log beside it, so that nobody could read it while another writes; but who has begun
        // to read may go on.
        if connect::is_in_memory(&self.path) && self.reader.is_autocommit() {
            self.reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").fault(&self.path)?;
        }
        self.writer()?.put(put)
    }

    /// Ends what [`put`](Self::put) began.
    fn end(&mut self, end: fn(&mut Writer) -> Result<(), ArchiveError>) -> Result<(), ArchiveError> {
        if !self.reader.is_autocommit() {
            self.reader.execute_batch("COMMIT").fault(&self.path)?;
        }
        self.writer.as_mut().map_or(Ok(()), end)
    }

    /// The writer, opened when something is put for the first time.
    fn writer(&mut self) -> Result<&mut Writer, ArchiveError> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => Writer::open(&self.path)?,
        };
        Ok(self.writer.insert(writer))
    }
}

impl Archive for Sqlite {
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.put(|writer| writer.put_original(original))
    }

    fn put_operation(&mut self, operation: &Operation, recipe: &[RecipeStep]) -> Result<(), ArchiveError> {
        self.put(|writer| writer.put_operation(operation, recipe))
    }

    fn put_record(&mut self, record: &Record) -> Result<(), ArchiveError> {
        self.put(|writer| writer.put_record(record))
    }

    fn drop_record(&mut self, kind: Kind, key: Digest) -> Result<(), ArchiveError> {
        self.put(|writer| writer.drop_record(kind, key))
    }

    fn put_lines(&mut self, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError> {
        self.put(|writer| writer.put_lines(lines))
    }

    fn put_object(&mut self, object: &Object) -> Result<(), ArchiveError> {
        self.put(|writer| writer.put_object(object))
    }

    fn drop_object(&mut self, kind: ObjectKind, key: Digest) -> Result<(), ArchiveError> {
        self.put(|writer| writer.drop_object(kind, key))
    }

    fn drop_originals(&mut self, operation: &str) -> Result<(), ArchiveError> {
        self.put(|writer| writer.drop_originals(operation))
    }

    fn replace_lines(&mut self, lines: &[(LineId, Vec<u8>)]) -> Result<(), ArchiveError> {
        // The packs that are held have what was there.
        self.lines = RefCell::default();
        self.put(|writer| writer.replace_lines(lines))
    }

    fn replace_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError> {
        self.put(|writer| writer.replace_operation(operation))
    }

    fn erase(&mut self) -> Result<(), ArchiveError> {
        self.writer()?.erase()
    }

    fn claim(&mut self) -> Result<(), ArchiveError> {
        // The transaction of a deposit is one that writes from its beginning.
        self.put(|_| Ok(()))
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.writer.as_ref().map_or(Ok(()), Writer::check_whole)?;
        self.end(Writer::commit)
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        self.end(Writer::rollback)
    }

    fn line(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
        self.at_once(|| {
            let body = self.all(lines::BODY, [digest.as_bytes()], lines::body)?.pop();
            let line = body.map(|body| self.read_line(body)).transpose()?;
            Ok(line.and_then(Line::into_bytes))
        })
    }

    fn line_id(&self, digest: Digest) -> Result<Option<LineId>, ArchiveError> {
        Ok(self.all(lines::BODY_ID, [digest.as_bytes()], |row| length(row, "id"))?.pop().map(LineId))
    }

    fn each_line(&self, ids: &[LineId], each: &mut EachLine<'_>) -> Result<(), ArchiveError> {
        self.at_once(|| {
            for id in ids {
                let body = self.all(lines::BODY_BY_ID, [to_signed(id.0)], lines::body)?.pop();
                let line = body.map(|body| self.read_line(body)).transpose()?;
                each(*id, line.as_ref().and_then(Line::bytes).ok_or(ArchiveError::NoSuchLine { id: id.0 })?)?;
            }
            Ok(())
        })
    }

    fn object(&self, kind: ObjectKind, key: Digest) -> Result<Option<Object>, ArchiveError> {
        let Some(packed) = self.all(objects::BY_KEY, params![key.as_bytes(), kind.name()], objects::packed)?.pop()
        else {
            return Ok(None);
        };
        let object = packed.unpack(&mut self.lines.borrow_mut().unpacker);
        object.map(Some).ok_or_else(|| self.damaged("object", key))
    }

    fn objects_of(&self, kind: ObjectKind, group: Digest) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        self.labels(objects::BY_GROUP, params![group.as_bytes(), kind.name()])
    }

    fn object_keys(&self, kind: ObjectKind) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        self.labels(objects::BY_KIND, [kind.name()])
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

    fn originals_of_line(&self, line: Digest) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.all(originals::OF_LINE, [line.as_bytes()], originals::original)
    }

    fn loose_originals(&self) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.all(originals::LOOSE, [], originals::original)
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

    fn operations_at(&self, path: &Path) -> Result<Vec<Operation>, ArchiveError> {
        self.all(operations::BY_PATH, [path_value(path)], operations::operation)
    }

    fn operation_ids(&self) -> Result<Vec<String>, ArchiveError> {
        self.all(operations::IDS, [], |row| row.get(0))
    }

    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError> {
        Ok(self.all(operations::RECIPE, [id], operations::recipe)?.pop())
    }

    fn record(&self, kind: Kind, key: Digest) -> Result<Option<Record>, ArchiveError> {
        let found = self.all(records::BY_KEY, params![key.as_bytes(), kind.name()], records::packed)?.pop();
        found.map(|packed| self.unpack(packed)).transpose()
    }

    fn records(&self, filter: &RecordFilter<'_>) -> Result<Vec<Record>, ArchiveError> {
        // -1 is no limit.
        let last = filter.last.map_or(-1, i64::from);
        let params = params![filter.kind.map(Kind::name), filter.session, filter.speaker, last];
        let newest_first = self.all(records::FILTERED, params, records::packed)?;
        newest_first.into_iter().rev().map(|packed| self.unpack(packed)).collect()
    }

    fn record_names(&self) -> Result<Vec<DocumentId>, ArchiveError> {
        self.all(records::ALL, [], records::name)
    }

    fn records_by_prefix(&self, prefix: &str) -> Result<Vec<DocumentId>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let params = params![range.start().as_bytes(), range.end().as_bytes(), to_signed(AT_MOST as u64)];
        self.all(records::BY_PREFIX, params, records::name)
    }

    fn index(
        &mut self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError> {
        // Most often there is nothing to do, for which no writer is needed.
        match self.all(index::N_LEFT, [], |row| length(row, "n_left"))?.pop() {
            Some(0) | None => Ok(()),
            Some(_) => self.writer()?.index(read, progress),
        }
    }

    fn search(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        self.hits(search::matching(&self.reader, query), read)
    }

    fn entries(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        self.hits(search::newest(&self.reader, query), read)
    }

    fn without_vector(&self, model: &str, limit: u32, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        self.hits(vectors::without(&self.reader, model, limit), read)
    }

    fn put_vectors(&mut self, model: &str, new: &[(DocumentId, Option<Vector>)]) -> Result<(), ArchiveError> {
        match self.writer()?.put_vectors(model, new)? {
            vectors::Kept::All => Ok(()),
            vectors::Kept::OtherDimension(known) => Err(other_dimension(model, new, known)),
        }
    }

    fn nearest(
        &self,
        model: &str,
        vector: &Vector,
        query: &Query<'_>,
        read: &Reader<'_>,
    ) -> Result<Vec<Hit>, ArchiveError> {
        self.hits(vectors::nearest(&self.reader, model, vector, query), read)
    }

    fn contents(&self) -> Result<Contents, ArchiveError> {
        let found = self.all(CONTENTS, [], |row| {
            Ok(Contents {
                operations: length(row, "operations")?,
                originals: length(row, "originals")?,
                lines: length(row, "lines")?,
                line_bytes: length(row, "line_bytes")?,
                records: length(row, "records")?,
            })
        })?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn each_size(&self, each: &mut dyn FnMut(LineId, u64, u64)) -> Result<(), ArchiveError> {
        lines::each_size(&self.reader, each).fault(&self.path)
    }

    fn merge_packs(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64, ArchiveError> {
        self.writer()?.merge_packs(go_on)
    }

    fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError> {
        self.writer()?.sweep(cleanup, sweep)
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
