//! The archive's trait on a database.

use std::ops::ControlFlow;

use super::deposit::Store;
use super::hits::hits;
use super::lines::{KNOWN, each_size};
use super::value::{Value, values};
use super::{index, objects, operations, packing, records, replace, search, sweep, vectors};
use crate::prefix::{self, AT_MOST};
use crate::{
    Archive, ArchiveError, Cleanup, Contents, DocumentId, Dropped, EachLine, Entry, Hit, Kind, LineId, Name, Object,
    ObjectKind, Operation, Operations, Originals, Reader, RecipeStep, Record, RecordFilter, Search, StoredOriginal,
    Sweep, Vector,
};
use ctxc_transcript::text::Digest;

impl Archive for Store {
    fn claim(&mut self) -> Result<(), ArchiveError> {
        self.hold_all()
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.end()
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        self.undo()
    }

    fn put(&mut self, entry: Entry<'_>) -> Result<(), ArchiveError> {
        self.put_entry(entry)
    }

    fn put_lines(&mut self, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError> {
        // What was gathered may have some of them too.
        self.put_behind(|store| {
            let (packing, db) = store.packing()?;
            packing.put(db, lines)
        })
    }

    fn remove(&mut self, name: Name<'_>) -> Result<(), ArchiveError> {
        self.drop_entry(name)
    }

    fn replace_lines(&mut self, lines: &[(LineId, Vec<u8>)]) -> Result<(), ArchiveError> {
        // The packs that are held have what was there.
        self.lines.take();
        self.put_behind(|store| {
            store.close_pack()?;
            replace::lines(&*store.writer, lines)
        })
    }

    fn replace_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError> {
        self.put_behind(|store| operations::replace(&*store.writer, operation))
    }

    fn line_ids(&self, digests: &[Digest]) -> Result<Vec<(Digest, LineId)>, ArchiveError> {
        self.reader.all(KNOWN, &[Value::list(digests.iter().copied())], |row| Ok((row.get()?, row.get()?)))
    }

    fn each_line(&self, ids: &[LineId], each: &mut EachLine<'_>) -> Result<(), ArchiveError> {
        self.reader.at_once(&mut || self.lines.borrow_mut().each(&*self.reader, ids, each))
    }

    fn object(&self, kind: ObjectKind, key: Digest) -> Result<Option<Object>, ArchiveError> {
        objects::one(&*self.reader, &mut self.lines.borrow_mut().unpacker, kind, key)
    }

    fn objects(&self, kind: ObjectKind, group: Option<Digest>) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        objects::heads(&*self.reader, kind, group)
    }

    fn objects_mark(&self, kind: ObjectKind) -> Result<String, ArchiveError> {
        objects::mark(&*self.reader, kind)
    }

    fn records(&self, filter: &RecordFilter<'_>) -> Result<Vec<Record>, ArchiveError> {
        records::filtered(&*self.reader, &mut self.lines.borrow_mut().unpacker, filter)
    }

    fn records_named(&self, names: &[(Kind, Digest)]) -> Result<Vec<Record>, ArchiveError> {
        records::named(&*self.reader, &mut self.lines.borrow_mut().unpacker, names)
    }

    fn record_names(&self) -> Result<Vec<(Kind, Digest)>, ArchiveError> {
        records::names(&*self.reader)
    }

    fn begins_with(&self, prefix: &str) -> Result<Vec<DocumentId>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let (first, last) = (*range.start(), *range.end());
        let lines = operations::digests(&*self.reader, first, last)?.into_iter().map(DocumentId::Line);
        let sql = "SELECT kind, key FROM record WHERE key BETWEEN $1 AND $2 ORDER BY key LIMIT $3::bigint";
        let name = self
            .reader
            .all(sql, &values![first, last, AT_MOST], |row| Ok(DocumentId::Record(row.get()?, row.get()?)))?;
        Ok(lines.chain(name).collect())
    }

    fn originals(&self, wanted: Originals<'_>) -> Result<Vec<StoredOriginal>, ArchiveError> {
        operations::originals(&*self.reader, wanted)
    }

    fn operations(&self, wanted: Operations<'_>) -> Result<Vec<Operation>, ArchiveError> {
        operations::operations(&*self.reader, wanted)
    }

    fn operation_ids(&self) -> Result<Vec<String>, ArchiveError> {
        operations::ids(&*self.reader)
    }

    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError> {
        operations::recipe(&*self.reader, id)
    }

    fn index(
        &mut self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError> {
        // Most often there is nothing to do, for which no writer is needed.
        match index::n_left(&*self.reader)? {
            0 => Ok(()),
            n_left => index::catch_up(self.free()?, n_left, read, progress),
        }
    }

    fn find(&self, search: &Search<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        let db = &*self.reader;
        let ids = match search {
            Search::Words(query) => search::matching(db, query),
            Search::Newest(query) => search::newest(db, query),
            Search::Nearest(model, vector, query) => vectors::nearest(db, model, vector, query),
            Search::WithoutVector(model, limit) => vectors::without(db, model, *limit),
        }?;
        hits(db, &mut self.lines.borrow_mut(), &ids, read)
    }

    fn put_vectors(&mut self, model: &str, vectors: &[(DocumentId, Option<Vector>)]) -> Result<(), ArchiveError> {
        vectors::put(self.free()?, model, vectors)
    }

    fn contents(&self) -> Result<Contents, ArchiveError> {
        let sql =
            "SELECT (SELECT count(*) FROM operation), (SELECT count(*) FROM original), (SELECT count(*) FROM body),
            (SELECT coalesce(sum(bytes), 0)::bigint FROM body), (SELECT count(*) FROM record)";
        let found = self.reader.one(sql, &[], |row| {
            let (operations, originals) = (row.get()?, row.get()?);
            Ok(Contents { operations, originals, lines: row.get()?, line_bytes: row.get()?, records: row.get()? })
        })?;
        Ok(found.unwrap_or_default())
    }

    fn each_size(&self, each: &mut dyn FnMut(LineId, u64, u64)) -> Result<(), ArchiveError> {
        each_size(&*self.reader, each)
    }

    fn stored_bytes(&self) -> Result<Option<u64>, ArchiveError> {
        const ON_A_SERVER: &str = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";
        let sql = self.reader.dialect().pick(None, Some(ON_A_SERVER));
        sql.map(|sql| self.reader.number(sql, &[]).map(i64::cast_unsigned)).transpose()
    }

    fn merge_packs(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64, ArchiveError> {
        packing::merge(self.free()?, go_on)
    }

    fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError> {
        sweep::sweep(self.free()?, cleanup, sweep)
    }

    fn erase(&mut self) -> Result<(), ArchiveError> {
        replace::erase(self.free()?)
    }
}
