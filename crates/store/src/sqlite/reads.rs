//! What the archive reads from its database: rows, and the lines, objects and records that they hold.

use rusqlite::{Params, Row};

use super::fault::Fault;
use super::lines::{Body, Line};
use super::store::Sqlite;
use super::{objects, search};
use crate::packed::Packed;
use crate::{Archive, ArchiveError, DocumentId, Hit, Reader, Record};
use ctxc_transcript::text::Digest;

impl Sqlite {
    /// Reads all of something as it stands at one time, whatever others write.
    pub(super) fn at_once<T>(&self, read: impl FnOnce() -> Result<T, ArchiveError>) -> Result<T, ArchiveError> {
        if !self.reader.is_autocommit() {
            return read();
        }
        self.reader.execute_batch("BEGIN").fault(&self.path)?;
        let read = read();
        self.reader.execute_batch("COMMIT").fault(&self.path)?;
        read
    }

    pub(super) fn read_line(&self, body: Body) -> Result<Line, ArchiveError> {
        let digest = body.digest;
        let line = self.lines.borrow_mut().read(&self.reader, body).fault(&self.path)?;
        line.ok_or_else(|| self.damaged("line", digest))
    }

    pub(super) fn labels(&self, sql: &str, params: impl Params) -> Result<Vec<(Digest, Vec<u8>)>, ArchiveError> {
        let labels = self.all(sql, params, objects::label)?.into_iter();
        labels
            .map(|label| {
                let key = label.key;
                label.checked().ok_or_else(|| self.damaged("object", key))
            })
            .collect()
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        record: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ArchiveError> {
        let read = || self.reader.prepare_cached(sql)?.query_map(params, record)?.collect::<Result<_, _>>();
        read().fault(&self.path)
    }

    pub(super) fn unpack(&self, packed: Packed) -> Result<Record, ArchiveError> {
        let key = packed.key();
        packed.unpack(&mut self.lines.borrow_mut().unpacker).ok_or_else(|| self.damaged("record", key))
    }

    pub(super) fn damaged(&self, what: &str, digest: Digest) -> ArchiveError {
        ArchiveError::Damaged { path: self.path.clone(), detail: format!("the {what} {digest} is not what was stored") }
    }

    /// What the documents of these numbers are.
    pub(super) fn hits(&self, ids: rusqlite::Result<Vec<i64>>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        let mut hits = Vec::new();
        for id in ids.fault(&self.path)? {
            let found = self.all(search::NAMED, [id], search::name)?.pop();
            let hit = match found {
                Some(DocumentId::Line(digest)) => self.line_hit(digest, read)?,
                Some(DocumentId::Record(kind, key)) => self.record(kind, key)?.map(|record| Hit {
                    id: DocumentId::Record(kind, key),
                    document: record.document,
                    operation: None,
                }),
                None => None,
            };
            hits.extend(hit);
        }
        Ok(hits)
    }

    pub(super) fn line_hit(&self, digest: Digest, read: &Reader<'_>) -> Result<Option<Hit>, ArchiveError> {
        let Some(document) = self.line(digest)?.and_then(|line| read(&line)) else { return Ok(None) };
        let operation = self.originals_of_line(digest)?.into_iter().find_map(|original| original.operation);
        Ok(Some(Hit { id: DocumentId::Line(digest), document, operation }))
    }
}
