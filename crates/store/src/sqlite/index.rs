//! The index that a search goes by, brought up to date.
//!
//! A deposit leaves it alone, so that a rewrite does not wait for it; each search first reads what has come since the
//! last one. Vocabulary lies in a table of its own, by which words are found that a longer one contains.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params};

use super::lines::{Line, Lines, body};
use super::records::packed;
use super::row::{length, to_nanoseconds};
use crate::{Document, Reader, terms};

/// How many bytes are read before what was indexed is committed.
const PORTION: u64 = 16 << 20;

/// How many words are remembered as known before they are forgotten again.
const MOST_WORDS: usize = 1 << 20;

/// How many bodies and records are still to be indexed.
pub(super) const N_LEFT: &str = "SELECT (SELECT count(*) FROM body WHERE id > indexed.body
        AND NOT EXISTS (SELECT 1 FROM document WHERE document.body = body.id))
    + (SELECT count(*) FROM record WHERE seq > indexed.record) AS n_left FROM indexed";

const NEXT_BODY: &str = "SELECT id, digest, codec, content, bytes FROM body
    WHERE id > (SELECT body FROM indexed)
        AND NOT EXISTS (SELECT 1 FROM document WHERE document.body = body.id) ORDER BY id LIMIT 1";

const NEXT_RECORD: &str = "SELECT * FROM record WHERE seq > (SELECT record FROM indexed) ORDER BY seq LIMIT 1";

/// Brings the index up to date. `progress` is told how many of how many entries are done, and may end it; what was
/// indexed by then stays so.
pub(super) fn catch_up(
    connection: &Connection,
    read: &Reader<'_>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let mut indexer = Indexer { connection, read, lines: Lines::default(), words: HashSet::new() };
    let total: u64 = connection.query_row(N_LEFT, [], |row| length(row, "n_left"))?;
    let mut n_done = 0;
    while n_done < total {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let n_indexed = match indexer.portion() {
            Ok(n_indexed) => n_indexed,
            Err(error) => {
                connection.execute_batch("ROLLBACK")?;
                return Err(error);
            }
        };
        connection.execute_batch("COMMIT")?;
        n_done += n_indexed;
        // Another process may have done the rest.
        if n_indexed == 0 || progress(n_done, total).is_break() {
            break;
        }
    }
    Ok(())
}

struct Indexer<'a> {
    connection: &'a Connection,
    read: &'a Reader<'a>,
    lines: Lines,
    /// Words that the vocabulary has already.
    words: HashSet<String>,
}

impl Indexer<'_> {
    /// Indexes as much as is committed at once; how many entries that is.
    fn portion(&mut self) -> rusqlite::Result<u64> {
        let mut n_indexed = 0;
        let mut n_bytes = 0;
        while n_bytes < PORTION {
            let Some(bytes) = self.body()?.map_or_else(|| self.record(), |bytes| Ok(Some(bytes)))? else { break };
            n_indexed += 1;
            n_bytes += bytes;
        }
        Ok(n_indexed)
    }

    /// Indexes the next body; its length, or `None` where there is no further one.
    fn body(&mut self) -> rusqlite::Result<Option<u64>> {
        let next = self.connection.prepare_cached(NEXT_BODY)?.query_row([], body).optional()?;
        let Some(body) = next else { return Ok(None) };
        let (id, bytes) = (body.id, body.bytes);
        // A damaged line cannot be found; whoever asks for it is told.
        let line = self.lines.read(self.connection, body)?;
        if let Some(document) = line.as_ref().and_then(Line::bytes).and_then(self.read) {
            self.add(Some(id), None, &document)?;
        }
        self.connection.prepare_cached("UPDATE indexed SET body = ?")?.execute([id])?;
        Ok(Some(bytes))
    }

    /// Indexes the next record; its length, or `None` where there is no further one.
    fn record(&mut self) -> rusqlite::Result<Option<u64>> {
        let next = self
            .connection
            .prepare_cached(NEXT_RECORD)?
            .query_row([], |row| Ok((row.get::<_, i64>("seq")?, length(row, "bytes")?, packed(row)?)));
        let Some((seq, bytes, packed)) = next.optional()? else { return Ok(None) };
        if let Some(record) = packed.unpack(&mut self.lines.unpacker) {
            self.add(None, Some(seq), &record.document)?;
        }
        self.connection.prepare_cached("UPDATE indexed SET record = ?")?.execute([seq])?;
        Ok(Some(bytes))
    }

    fn add(&mut self, body: Option<i64>, record: Option<i64>, document: &Document) -> rusqlite::Result<()> {
        let id = self
            .connection
            .prepare_cached(
                "INSERT INTO document (body, record, kind, session, speaker, time) VALUES (?, ?, ?, ?, ?, ?)",
            )?
            .insert(params![
                body,
                record,
                document.kind.name(),
                document.session,
                document.speaker,
                document.time.map(to_nanoseconds)
            ])?;
        let text = terms::indexed(&document.text);
        self.connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?, ?)")?.execute(params![id, text])?;
        let mut learn = self.connection.prepare_cached("INSERT OR IGNORE INTO word (word) VALUES (?)")?;
        if self.words.len() > MOST_WORDS {
            self.words.clear();
        }
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !self.words.contains(word) {
                learn.execute([word])?;
                self.words.insert(word.to_owned());
            }
        }
        Ok(())
    }
}
