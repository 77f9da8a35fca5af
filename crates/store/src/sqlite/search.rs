//! A query carried out on the index.

use rusqlite::{Connection, Params, Row, params};

use super::records;
use crate::{DocumentId, Kind, Query, terms};
use ctxc_transcript::text::Digest;

/// How many longer words one word of a query may stand for.
const MOST_LONGER: u32 = 200;

/// The documents that match, best first; a row for each with its id.
const MATCHING: &str = "SELECT document.id FROM words JOIN document ON document.id = words.rowid
    WHERE words MATCH ?1 AND (?2 IS NULL OR document.kind = ?2) AND (?3 IS NULL OR document.speaker = ?3)
        AND (?4 IS NULL OR document.session IN (SELECT value FROM json_each(?4)))
    ORDER BY words.rank, document.id DESC LIMIT ?5";

/// All documents, newest first; a row for each with its id.
const NEWEST: &str = "SELECT document.id FROM document
    WHERE (?1 IS NULL OR document.kind = ?1) AND (?2 IS NULL OR document.speaker = ?2)
        AND (?3 IS NULL OR document.session IN (SELECT value FROM json_each(?3)))
    ORDER BY document.id DESC LIMIT ?4";

/// What a document is, as a row for [`name`].
pub(super) const NAMED: &str = "SELECT body.digest, record.kind, record.key FROM document
    LEFT JOIN body ON body.id = document.body LEFT JOIN record ON record.seq = document.record
    WHERE document.id = ?";

pub(super) fn name(row: &Row<'_>) -> rusqlite::Result<DocumentId> {
    match row.get("digest")? {
        Some(digest) => Ok(DocumentId::Line(Digest::from_bytes(digest))),
        None => records::name(row),
    }
}

/// The numbers of the documents that `query` finds, best first.
pub(super) fn matching(connection: &Connection, query: &Query<'_>) -> rusqlite::Result<Vec<i64>> {
    let terms = terms::terms(query.text);
    let limit = query.limit as usize;
    if terms.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let whole: Vec<String> = terms.iter().map(|term| phrase(term)).collect();
    let mut found = run(connection, query, &whole.join(" AND "))?;
    if found.len() < limit {
        let longer = |terms: &[Vec<String>]| -> rusqlite::Result<Vec<String>> {
            terms.iter().map(|term| any_longer(connection, term)).collect()
        };
        append(&mut found, run(connection, query, &longer(&terms)?.join(" AND "))?);
        let pieces = terms::pieces(&terms);
        if found.is_empty() && pieces.len() > 1 {
            found = run(connection, query, &longer(&pieces)?.join(" OR "))?;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// The numbers of the documents that `query` admits, whatever they say, newest first.
pub(super) fn newest(connection: &Connection, query: &Query<'_>) -> rusqlite::Result<Vec<i64>> {
    let params = params![query.kind.map(Kind::name), query.speaker, sessions(query)?, query.limit];
    all(connection, NEWEST, params, |row| row.get(0))
}

fn run(connection: &Connection, query: &Query<'_>, expression: &str) -> rusqlite::Result<Vec<i64>> {
    let kind = query.kind.map(Kind::name);
    all(connection, MATCHING, params![expression, kind, query.speaker, sessions(query)?, query.limit], |row| row.get(0))
}

/// The sessions as a JSON array; nothing where all of them are meant.
pub(super) fn sessions(query: &Query<'_>) -> rusqlite::Result<Option<String>> {
    if query.sessions.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(query.sessions).map(Some).map_err(super::row::unstorable)
}

/// Words that follow each other, as an expression. No word has a quote.
pub(super) fn phrase(words: &[String]) -> String {
    format!("\"{}\"", words.join(" "))
}

/// An expression for `term` as part of longer words too: the first word may have something before it, the last
/// something behind it.
fn any_longer(connection: &Connection, term: &[String]) -> rusqlite::Result<String> {
    let vocabulary =
        |sql: &str, word: &str| all(connection, sql, params![word, MOST_LONGER], |row| row.get::<_, String>(0));
    let alternatives: Vec<String> = match term {
        [] => Vec::new(),
        [word] => {
            let words =
                vocabulary("SELECT word FROM word WHERE instr(word, ?1) > 0 ORDER BY length(word) LIMIT ?2", word)?;
            words.iter().map(|word| phrase(std::slice::from_ref(word))).collect()
        }
        [first, rest @ ..] => {
            let words = vocabulary(
                "SELECT word FROM word WHERE substr(word, -length(?1)) = ?1 ORDER BY length(word) LIMIT ?2",
                first,
            )?;
            // The star lets the last word go on.
            words.into_iter().map(|word| format!("\"{word} {}\" *", rest.join(" "))).collect()
        }
    };
    Ok(if alternatives.is_empty() { phrase(term) } else { format!("({})", alternatives.join(" OR ")) })
}

/// Appends what `found` does not have yet.
pub(super) fn append(found: &mut Vec<i64>, more: Vec<i64>) {
    let n_found = found.len();
    for id in more {
        if !found.iter().take(n_found).any(|known| *known == id) {
            found.push(id);
        }
    }
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    value: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, value)?.collect()
}
