//! Vectors, and the search by them: each is looked at, for among some 100,000 that takes less than a question on the way to
//! a server.

use rusqlite::{Connection, OptionalExtension, params};

use super::row::{length, to_signed};
use crate::{DocumentId, EMBEDDED, Kind, Query, Vector};

/// Whether vectors were kept.
pub(super) enum Kept {
    /// They were.
    All,
    /// None was: those that are there have so many numbers.
    OtherDimension(usize),
}

/// The numbers of the documents that have no vector of `model`, newest first.
pub(super) fn without(connection: &Connection, model: &str, limit: u32) -> rusqlite::Result<Vec<i64>> {
    let kinds = EMBEDDED.map(|kind| format!("'{}'", kind.name())).join(", ");
    let sql = format!(
        "SELECT id FROM document WHERE kind IN ({kinds}) AND NOT EXISTS (SELECT 1 FROM vector
            WHERE vector.document = document.id AND vector.space = (SELECT id FROM space WHERE model = ?1))
        ORDER BY id DESC LIMIT ?2"
    );
    connection.prepare_cached(&sql)?.query_map(params![model, limit], |row| row.get(0))?.collect()
}

/// Keeps vectors of `model`, in one transaction.
pub(super) fn put(
    connection: &Connection,
    model: &str,
    vectors: &[(DocumentId, Option<Vector>)],
) -> rusqlite::Result<Kept> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let kept = put_all(connection, model, vectors);
    let end = if matches!(kept, Ok(Kept::All)) { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    kept
}

fn put_all(connection: &Connection, model: &str, vectors: &[(DocumentId, Option<Vector>)]) -> rusqlite::Result<Kept> {
    let dimensions = vectors.iter().filter_map(|(_, vector)| vector.as_ref().map(Vector::dimension));
    let Some(dimension) = dimensions.clone().next() else { return put_in(connection, model, vectors) };
    let known = connection
        .query_row("SELECT dimension FROM space WHERE model = ?", [model], |row| length(row, "dimension"))
        .optional()?;
    let known = known.and_then(|known| usize::try_from(known).ok()).unwrap_or(dimension);
    if dimensions.clone().any(|dimension| dimension != known) {
        return Ok(Kept::OtherDimension(known));
    }
    let insert = "INSERT OR IGNORE INTO space (model, dimension) VALUES (?, ?)";
    connection.execute(insert, params![model, to_signed(known as u64)])?;
    put_in(connection, model, vectors)
}

fn put_in(connection: &Connection, model: &str, vectors: &[(DocumentId, Option<Vector>)]) -> rusqlite::Result<Kept> {
    let of_line = "SELECT document.id FROM document JOIN body ON body.id = document.body
        WHERE substr(body.digest, 1, 8) = substr(?1, 1, 8) AND body.digest = ?1";
    let of_record = "SELECT document.id FROM document JOIN record ON record.seq = document.record
        WHERE record.key = ?1 AND record.kind = ?2";
    for (id, vector) in vectors {
        let document: Option<i64> = match id {
            DocumentId::Line(digest) => {
                connection.prepare_cached(of_line)?.query_row([digest.as_bytes()], |row| row.get(0)).optional()?
            }
            DocumentId::Record(kind, key) => connection
                .prepare_cached(of_record)?
                .query_row(params![key.as_bytes(), kind.name()], |row| row.get(0))
                .optional()?,
        };
        let Some(document) = document else { continue };
        let insert = "INSERT OR REPLACE INTO vector (space, document, value)
            SELECT id, ?2, ?3 FROM space WHERE model = ?1";
        let value = vector.as_ref().map(Vector::to_bytes);
        connection.prepare_cached(insert)?.execute(params![model, document, value])?;
    }
    Ok(Kept::All)
}

/// The numbers of the documents that `query` admits whose vectors are most like `vector`, the most alike first.
pub(super) fn nearest(
    connection: &Connection,
    model: &str,
    vector: &Vector,
    query: &Query<'_>,
) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT document.id, vector.value FROM vector JOIN document ON document.id = vector.document
        WHERE vector.space = (SELECT id FROM space WHERE model = ?1) AND vector.value IS NOT NULL
            AND (?2 IS NULL OR document.kind = ?2) AND (?3 IS NULL OR document.speaker = ?3)
            AND (?4 IS NULL OR document.session IN (SELECT value FROM json_each(?4)))";
    let mut find = connection.prepare_cached(sql)?;
    let sessions = super::search::sessions(query)?;
    let mut rows = find.query(params![model, query.kind.map(Kind::name), query.speaker, sessions])?;
    let mut found: Vec<(f32, i64)> = Vec::new();
    let limit = query.limit as usize;
    let best_first = |left: &(f32, i64), right: &(f32, i64)| right.0.total_cmp(&left.0).then(right.1.cmp(&left.1));
    while let Some(row) = rows.next()? {
        let likeness = vector.likeness_of_bytes(row.get_ref("value")?.as_blob()?);
        if let Some(likeness) = likeness.filter(|likeness| *likeness > 0.0) {
            found.push((likeness, row.get("id")?));
        }
        // Only the best are held.
        if found.len() > limit.saturating_mul(8).max(1024) {
            found.sort_by(best_first);
            found.truncate(limit);
        }
    }
    found.sort_by(best_first);
    found.truncate(limit);
    Ok(found.into_iter().map(|(_, id)| id).collect())
}
