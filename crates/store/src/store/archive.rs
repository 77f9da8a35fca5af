//! The archive's trait on a database.

use std::ops::ControlFlow;

use super::deposit::Store;
use super::hits::hits;
use super::{index, lines, objects, operations, packing, read_back, records, replace, search, sweep, vectors};
use crate::{
    Archive, ArchiveError, CleanupLimits, Contents, Digests, Dropped, EachDigest, EachLine, EachRecord, Entry, Hit,
    LineId, Name, Object, ObjectKind, Operation, Operations, Originals, Reader, Records, Rewrite, Search,
    StoredOriginal, Sweep,
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
        // Some of them may be among the gathered lines too.
        self.put_behind(|store| store.pack(lines))
    }

    fn remove(&mut self, name: Name<'_>) -> Result<(), ArchiveError> {
        self.drop_entry(name)
    }

    fn line_ids(&self, digests: Digests<'_>) -> Result<Vec<(Digest, LineId)>, ArchiveError> {
        lines::ids(&*self.reader, digests)
    }

    fn each_line(&self, ids: &[LineId], each: &mut EachLine<'_>) -> Result<(), ArchiveError> {
        self.reader.at_once(&mut || self.lines.borrow_mut().each(&*self.reader, ids, each))
    }

    fn each_digest(&self, ids: &[LineId], each: &mut EachDigest<'_>) -> Result<(), ArchiveError> {
        let mut lines = self.lines.borrow_mut();
        self.reader.at_once(&mut || read_back::each(&*self.reader, &mut lines, &self.written, ids, each))
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

    fn each_record(&self, wanted: Records<'_>, each: &mut EachRecord<'_>) -> Result<(), ArchiveError> {
        records::each(&*self.reader, &mut self.lines.borrow_mut().unpacker, wanted, each)
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
            Search::Newest(query) => search::list_admitted(db, query),
            Search::Nearest(model, vector, query) => vectors::nearest(db, model, vector, query),
            Search::WithoutVector(model, limit) => vectors::without(db, model, *limit),
        }?;
        hits(db, &mut self.lines.borrow_mut(), &ids, read)
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
        lines::each_size(&*self.reader, each)
    }

    fn sweep(&mut self, cleanup: &CleanupLimits, sweep: Sweep) -> Result<Dropped, ArchiveError> {
        sweep::sweep(self.free()?, cleanup, sweep)
    }

    fn rewrite(&mut self, what: Rewrite<'_>) -> Result<u64, ArchiveError> {
        match what {
            Rewrite::SmallPacks(go_on) => packing::merge(self.free()?, go_on),
            Rewrite::Everything => replace::erase(self.free()?).map(|()| 0),
        }
    }
}
