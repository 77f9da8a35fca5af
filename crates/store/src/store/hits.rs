//! Reads the documents that a search found.

use std::collections::HashMap;

use super::lines::{self, LineLoader};
use super::link::DatabaseLink;
use super::operations::removed_by_column;
use super::records;
use super::value::{Row, Value};
use crate::{ArchiveError, DocumentId, Hit, Reader};

/// The hits of the documents with these ids, in their order.
pub(super) fn read_hits(
    db: &dyn DatabaseLink,
    lines: &mut LineLoader,
    ids: &[i64],
    read: &Reader<'_>,
) -> Result<Vec<Hit>, ArchiveError> {
    let wanted = || [Value::list_of(ids.iter().copied())];
    let mut found: HashMap<i64, Hit> = HashMap::new();
    let bodies = format!(
        "SELECT body.id, digest, codec, content, bytes, document.id, {}
        FROM document JOIN body ON body.id = document.body WHERE document.id = ANY($1)",
        removed_by_column(db.sql_dialect())
    );
    for (body, id, operation) in db.collect_rows(&bodies, &wanted(), |row| {
        Ok((lines::read_line_row(row)?, row.next_value::<i64>()?, row.next_value()?))
    })? {
        let digest = body.digest;
        let line = lines.require_line(db, body)?;
        let document = line.bytes().and_then(read);
        found.extend(document.map(|document| (id, Hit { id: DocumentId::Line(digest), document, operation })));
    }
    let columns = records::COLUMNS.split(", ").map(|column| format!("record.{column}")).collect::<Vec<_>>().join(", ");
    let key = record_id_column(db);
    let records = format!(
        "SELECT {columns}, document.id FROM document JOIN record ON record.{key} = document.record
        WHERE document.id = ANY($1)"
    );
    let unpacker = &mut lines.unpacker;
    let record = |row: &mut Row| Ok((records::read_record(row, unpacker)?, row.next_value::<i64>()?));
    for (record, id) in db.collect_rows(&records, &wanted(), record)? {
        let name = DocumentId::Record(record.document.kind, record.key);
        found.insert(id, Hit { id: name, document: record.document, operation: None });
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// The column of a record by which the index names it.
pub(super) fn record_id_column(db: &dyn DatabaseLink) -> &'static str {
    db.sql_dialect().pick_value("seq", "id")
}
