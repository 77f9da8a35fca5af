//! What documents are and say, all of a search at once.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::originals::body;
use super::records::packed;
use super::row::{Damage, optional_text, value};
use super::store::Postgres;
use crate::{ArchiveError, DocumentId, Hit, Reader};

/// The documents of some numbers that are lines, with the newest operation that took each out.
const LINES: &str = "SELECT document.id AS document, body.id, body.digest, body.codec, body.content, body.bytes,
        (SELECT operation FROM stored_original WHERE stored_original.body = body.id AND operation IS NOT NULL
            ORDER BY seq DESC LIMIT 1) AS operation
    FROM document JOIN body ON body.id = document.body WHERE document.id = ANY($1)";

/// Those that are records.
const RECORDS: &str =
    "SELECT document.id AS document, record.* FROM document JOIN record ON record.id = document.record
    WHERE document.id = ANY($1)";

/// What the documents of these numbers are, in their order.
pub(super) fn hits(archive: &Postgres, ids: &[i64], read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
    let numbered = |row: &Row| value::<i64>(row, "document");
    let mut found: HashMap<i64, Hit> = HashMap::new();
    let lines = archive.all(LINES, &[&ids], |row| Ok((numbered_body(row)?, optional_text(row, "operation")?)))?;
    for ((id, packed), operation) in lines {
        let digest = packed.digest;
        let line = archive.unpack_line(packed)?;
        let hit = read(&line).map(|document| Hit { id: DocumentId::Line(digest), document, operation });
        found.extend(hit.map(|hit| (id, hit)));
    }
    for (id, packed) in archive.all(RECORDS, &[&ids], |row| Ok((numbered(row)?, packed(row)?)))? {
        let record = archive.unpack_record(packed)?;
        let name = DocumentId::Record(record.document.kind, record.key);
        found.insert(id, Hit { id: name, document: record.document, operation: None });
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

fn numbered_body(row: &Row) -> Result<(i64, super::originals::PackedBody), Damage> {
    Ok((value(row, "document")?, body(row)?))
}
