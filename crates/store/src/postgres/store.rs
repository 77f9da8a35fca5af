//! The archive's trait on a PostgreSQL database.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::originals::PackedBody;
use super::row::{length, path_value, text_value, to_signed, value};
use super::session::{Server, Session, Values};
use super::writer::Writer;
use super::{
    fetch, index, migrate, nearest, operations, originals, records, replace, search, sessions, sweep, vectors,
};
use crate::body::Unpacker;
use crate::pack::HeldPacks;
use crate::prefix;
use crate::prefix::AT_MOST;
use crate::{
    Archive, ArchiveError, Cleanup, Contents, DocumentId, Dropped, EachLine, Hit, Kind, LineId, Object, ObjectKind,
    Operation, Original, Output, Query, Reader, RecipeStep, Record, RecordFilter, ServerUrl, StoredOriginal, Sweep,
    Upgraded, Vector,
};
use ctxc_transcript::text::Digest;

const CONTENTS: &str = "SELECT (SELECT count(*) FROM operation) AS operations,
    (SELECT count(*) FROM original) AS originals, (SELECT count(*) FROM body) AS lines,
    (SELECT coalesce(sum(bytes), 0)::bigint FROM body) AS line_bytes, (SELECT count(*) FROM record) AS records";

/// How many lines are asked for at a time.
const LINES_AT_A_TIME: usize = 1000;

/// An archive in a schema of a PostgreSQL database.
pub(crate) struct Postgres {
    pub(super) server: Server,
    /// Only reads. It is another connection than the writer's, so that it sees only what is committed.
    pub(super) reader: Cell<Option<Session>>,
    pub(super) unpacker: RefCell<Unpacker>,
    pub(super) packs: RefCell<HeldPacks>,
    writer: Writer,
}

impl Postgres {
    /// The archive at `url`, made where there is none yet.
    ///
    /// # Errors
    /// When the server cannot be reached or lets nobody in, or what is there is no archive of this version.
    pub(crate) fn open(url: &ServerUrl) -> Result<Self, ArchiveError> {
        let server = Server::new(url)?;
        let mut session = server.connect()?;
        migrate::prepare(&server, &mut session)?;
        Ok(Self {
            server,
            reader: Cell::new(Some(session)),
            unpacker: RefCell::default(),
            packs: RefCell::default(),
            writer: Writer::default(),
        })
    }

    /// Whether there is an archive at `url`.
    ///
    /// # Errors
    /// When the server cannot be reached or lets nobody in.
    pub(crate) fn is_there(url: &ServerUrl) -> Result<bool, ArchiveError> {
        let server = Server::new(url)?;
        let mut session = server.connect()?;
        migrate::is_there(&server, &mut session)
    }

    /// Brings the archive at `url` up to date; `None` where there is none.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or what is there is no archive of this version or an older one.
    pub(crate) fn upgrade(url: &ServerUrl) -> Result<Option<Upgraded>, ArchiveError> {
        let server = Server::new(url)?;
        let mut session = server.connect()?;
        migrate::upgrade_existing(&server, &mut session)
    }
}

impl Archive for Postgres {
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.writer.put_original(&self.server, original)
    }

    fn put_operation(&mut self, operation: &Operation, recipe: &[RecipeStep]) -> Result<(), ArchiveError> {
        self.writer.put_operation(&self.server, operation, recipe)
    }

    fn put_record(&mut self, record: &Record) -> Result<(), ArchiveError> {
        self.writer.put_record(&self.server, record)
    }

    fn drop_record(&mut self, kind: Kind, key: Digest) -> Result<(), ArchiveError> {
        self.writer.drop_record(&self.server, kind, key)
    }

    fn put_lines(&mut self, lines: &[(Digest, &[u8])]) -> Result<Vec<LineId>, ArchiveError> {
        self.writer.put_lines(&self.server, lines)
    }

    fn put_object(&mut self, object: &Object) -> Result<(), ArchiveError> {
        self.writer.put_object(&self.server, object)
    }

    fn drop_object(&mut self, kind: ObjectKind, key: Digest) -> Result<(), ArchiveError> {
        self.writer.drop_object(&self.server, kind, key)
    }

    fn replace_lines(&mut self, lines: &[(LineId, Vec<u8>)]) -> Result<(), ArchiveError> {
        // The packs that are held have what was there.
        self.packs = RefCell::default();
        self.writer.within(&self.server, |server, session| replace::lines(server, session, lines))
    }

    fn replace_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError> {
        self.writer.within(&self.server, |server, session| replace::operation(server, session, operation))
    }

    fn erase(&mut self) -> Result<(), ArchiveError> {
        replace::erase(&self.server, self.writer.free(&self.server)?)
    }

    fn drop_originals(&mut self, operation: &str) -> Result<(), ArchiveError> {
        self.writer.drop_originals(&self.server, operation)
    }

    fn claim(&mut self) -> Result<(), ArchiveError> {
        self.writer.claim(&self.server)
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.writer.commit(&self.server)
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        self.writer.rollback(&self.server);
        Ok(())
    }

    fn line(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
        Ok(self.lines(&[digest])?.pop().flatten())
    }

    fn lines(&self, digests: &[Digest]) -> Result<Vec<Option<Vec<u8>>>, ArchiveError> {
        let wanted: Vec<&[u8]> = digests.iter().map(|digest| digest.as_bytes().as_slice()).collect();
        let mut found = HashMap::new();
        for packed in self.all(originals::BODIES, &[&wanted], originals::body)? {
            found.insert(packed.digest, self.unpack_line(packed)?);
        }
        Ok(digests.iter().map(|digest| found.get(digest).cloned()).collect())
    }

    fn line_id(&self, digest: Digest) -> Result<Option<LineId>, ArchiveError> {
        let find = "SELECT id FROM body WHERE digest = $1";
        let found = self.all(find, &[&digest.as_bytes().as_slice()], |row| length(row, "id"))?;
        Ok(found.into_iter().next().map(LineId))
    }

    fn each_line(&self, ids: &[LineId], each: &mut EachLine<'_>) -> Result<(), ArchiveError> {
        for portion in ids.chunks(LINES_AT_A_TIME) {
            let wanted: Vec<i64> = portion.iter().map(|id| to_signed(id.0)).collect();
            let bodies = self.all(originals::BODIES_BY_ID, &[&wanted], originals::body)?;
            let bodies: HashMap<LineId, PackedBody> = bodies.into_iter().map(|body| (body.id, body)).collect();
            for id in portion {
                let body = bodies.get(id).cloned().ok_or(ArchiveError::NoSuchLine { id: id.0 })?;
                each(*id, &self.unpack_line(body)?)?;
            }
        }
        Ok(())
    }

    fn object(&self, kind: ObjectKind, key: Digest) -> Result<Option<Object>, ArchiveError> {
        let values: Values<'_> = &[&kind.name(), &key.as_bytes().as_slice()];
        let Some(packed) = self.all(sessions::BY_KEY, values, sessions::packed)?.pop() else { return Ok(None) };
        let object = packed.unpack(&mut self.unpacker.borrow_mut());
        object.map(Some).ok_or_else(|| self.damaged(format!("the object {key} is not what was stored")))
    }

    fn objects_of(&self, kind: ObjectKind, group: Digest) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        self.labels(sessions::BY_GROUP, &[&kind.name(), &group.as_bytes().as_slice()])
    }

    fn object_keys(&self, kind: ObjectKind) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        self.labels(sessions::BY_KIND, &[&kind.name()])
    }

    fn lines_by_prefix(&self, prefix: &str) -> Result<Vec<Digest>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let (start, end) = (range.start().as_bytes().as_slice(), range.end().as_bytes().as_slice());
        self.all(originals::DIGESTS, &[&start, &end, &to_signed(AT_MOST as u64)], |row| {
            super::row::digest(row, "digest")
        })
    }

    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.originals(originals::BY_UUID, &[&text_value(uuid)])
    }

    fn originals_by_operation(&self, id: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.originals(originals::BY_OPERATION, &[&text_value(id)])
    }

    fn originals_of_line(&self, line: Digest) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.originals(originals::OF_LINE, &[&line.as_bytes().as_slice()])
    }

    fn loose_originals(&self) -> Result<Vec<StoredOriginal>, ArchiveError> {
        self.originals(originals::LOOSE, &[])
    }

    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError> {
        Ok(self.originals(originals::BY_LINE, &[&line.as_bytes().as_slice()])?.pop())
    }

    fn operation(&self, id: &str) -> Result<Option<Operation>, ArchiveError> {
        let values: Values<'_> = &[&text_value(id), &to_signed(AT_MOST as u64)];
        prefix::only(id, self.all(operations::BY_PREFIX, values, operations::operation)?)
    }

    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError> {
        let values: Values<'_> = &[&output.as_bytes().as_slice()];
        Ok(self.all(operations::BY_OUTPUT, values, operations::operation)?.pop())
    }

    fn operation_before(&self, id: &str, output: Output<'_>) -> Result<Option<Operation>, ArchiveError> {
        let id = text_value(id);
        let mut found = match output {
            Output::Digest(digest) => {
                self.all(operations::BEFORE_BY_OUTPUT, &[&digest.as_bytes().as_slice(), &id], operations::operation)
            }
            Output::Beginning(path, at_most) => {
                let values: Values<'_> = &[&path_value(path), &id, &to_signed(at_most)];
                self.all(operations::BEFORE_BY_PATH, values, operations::operation)
            }
        }?;
        Ok(found.pop())
    }

    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError> {
        self.all(operations::BY_SESSION, &[&text_value(session)], operations::operation)
    }

    fn operations_at(&self, path: &Path) -> Result<Vec<Operation>, ArchiveError> {
        self.all(operations::BY_PATH, &[&path_value(path)], operations::operation)
    }

    fn operation_ids(&self) -> Result<Vec<String>, ArchiveError> {
        self.all(operations::IDS, &[], operations::id)
    }

    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError> {
        Ok(self.all(operations::RECIPE, &[&text_value(id)], operations::recipe)?.pop())
    }

    fn record(&self, kind: Kind, key: Digest) -> Result<Option<Record>, ArchiveError> {
        Ok(self.records_named(&[(kind, key)])?.pop())
    }

    fn records_named(&self, names: &[(Kind, Digest)]) -> Result<Vec<Record>, ArchiveError> {
        let kinds: Vec<&str> = names.iter().map(|(kind, _)| kind.name()).collect();
        let keys: Vec<&[u8]> = names.iter().map(|(_, key)| key.as_bytes().as_slice()).collect();
        let found = self.all(records::BY_NAMES, &[&kinds, &keys], records::packed)?;
        found.into_iter().map(|packed| self.unpack_record(packed)).collect()
    }

    fn records(&self, filter: &RecordFilter<'_>) -> Result<Vec<Record>, ArchiveError> {
        let values: Values<'_> = &[
            &filter.kind.map(Kind::name),
            &filter.session.map(text_value),
            &filter.speaker.map(text_value),
            &filter.last.map(i64::from),
        ];
        let newest_first = self.all(records::FILTERED, values, records::packed)?;
        newest_first.into_iter().rev().map(|packed| self.unpack_record(packed)).collect()
    }

    fn record_names(&self) -> Result<Vec<DocumentId>, ArchiveError> {
        self.all(records::ALL, &[], records::name)
    }

    fn records_by_prefix(&self, prefix: &str) -> Result<Vec<DocumentId>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let (start, end) = (range.start().as_bytes().as_slice(), range.end().as_bytes().as_slice());
        self.all(records::BY_PREFIX, &[&start, &end, &to_signed(AT_MOST as u64)], records::name)
    }

    fn index(
        &mut self,
        read: &Reader<'_>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError> {
        // Most often there is nothing to do.
        match self.all(index::N_LEFT, &[], |row| length(row, "n_left"))?.pop() {
            Some(0) | None => Ok(()),
            Some(n_left) => index::catch_up(&self.server, &mut self.writer, n_left, read, progress),
        }
    }

    fn search(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        fetch::hits(self, &search::matching(self, query)?, read)
    }

    fn entries(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        fetch::hits(self, &search::newest(self, query)?, read)
    }

    fn without_vector(&self, model: &str, limit: u32, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        fetch::hits(self, &nearest::without(self, model, limit)?, read)
    }

    fn put_vectors(&mut self, model: &str, new: &[(DocumentId, Option<Vector>)]) -> Result<(), ArchiveError> {
        vectors::put(&self.server, &mut self.writer, model, new)
    }

    fn nearest(
        &self,
        model: &str,
        vector: &Vector,
        query: &Query<'_>,
        read: &Reader<'_>,
    ) -> Result<Vec<Hit>, ArchiveError> {
        fetch::hits(self, &nearest::nearest(self, model, vector, query)?, read)
    }

    fn contents(&self) -> Result<Contents, ArchiveError> {
        let found = self.all(CONTENTS, &[], |row| {
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

    fn stored_bytes(&self) -> Result<Option<u64>, ArchiveError> {
        const BYTES: &str = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";
        Ok(self.all(BYTES, &[], |row| value::<i64>(row, "bytes"))?.pop().and_then(|bytes| u64::try_from(bytes).ok()))
    }

    fn each_size(&self, each: &mut dyn FnMut(LineId, u64, u64)) -> Result<(), ArchiveError> {
        self.read_sizes(each)
    }

    fn merge_packs(&mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<u64, ArchiveError> {
        sessions::merge(&self.server, &mut self.writer, go_on)
    }

    fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError> {
        sweep::sweep(&self.server, &mut self.writer, cleanup, sweep)
    }
}

#[cfg(test)]
impl Postgres {
    /// The number of the connection that writes.
    pub(super) fn writer_pid(&mut self) -> i32 {
        self.writer.pid(&self.server)
    }

    /// Whether the transaction of this number was kept.
    pub(super) fn was_kept(&mut self, id: i64) -> bool {
        self.writer.was_kept(&self.server, id).unwrap()
    }
}
