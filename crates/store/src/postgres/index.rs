//! The index that a search goes by, brought up to date.
//!
//! A deposit puts what is new on a list. Each search first takes from it, a portion at a time, and one process at a time.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::ops::ControlFlow;

use tokio_postgres::Row;

use super::batch::damaged;
use super::fault::Fault;
use super::migrate::Lock;
use super::originals::{PackedBody, body};
use super::records::packed;
use super::row::{Damage, text_value, to_nanoseconds, value};
use super::search::quoted;
use super::session::{Server, Session, Values};
use super::sessions;
use super::writer::Writer;
use crate::body::Unpacker;
use crate::pack::HeldPacks;
use crate::packed::Packed;
use crate::{ArchiveError, Document, Reader, terms};

/// How many bytes and how many entries are indexed before that is committed.
const PORTION_BYTES: i64 = 16 << 20;
const PORTION: i64 = 1000;

/// How many words are remembered as known before they are forgotten again.
const MOST_WORDS: usize = 1 << 20;

/// How many words of an entry are indexed as one piece, and how many of these again in the next, so that a phrase is
/// found that lies across. A `tsvector` holds 255 places of a word and 16,383 in all.
const PIECE: usize = 4000;
const OVERLAP: usize = 20;
const MOST_PLACES: usize = 255;

/// After how many entries the server is told to count again what it has.
const MANY: u64 = 1000;

/// How much there is on the list.
pub(super) const N_LEFT: &str = "SELECT count(*) AS n_left FROM unindexed";

/// The first entries of the list. Who takes more than one takes no more bytes than a portion has.
const NEXT: &str = "WITH first AS (SELECT * FROM unindexed ORDER BY seq LIMIT $1),
    taken AS (SELECT *, sum(bytes) OVER (ORDER BY seq) - bytes AS n_before FROM first)
    SELECT seq, body, record FROM taken WHERE n_before < $2::bigint ORDER BY seq";

const BODIES: &str = "SELECT id, digest, codec, content, bytes FROM body WHERE id = ANY($1)";

const RECORDS: &str = "SELECT * FROM record WHERE id = ANY($1)";

const INSERT: &str =
    "WITH put AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[],
        $6::text[], $7::bigint[]) AS put (id, body, record, kind, session, speaker, time))
    INSERT INTO document (id, body, record, kind, session, speaker, time) OVERRIDING SYSTEM VALUE SELECT * FROM put";

const INSERT_WORDS: &str = "INSERT INTO words (document, piece, is_part, length, terms)
    SELECT document, piece, is_part, length, terms::tsvector
    FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::integer[], $5::text[])
        AS put (document, piece, is_part, length, terms)";

/// Brings the index up to date. `progress` is told how many of how many entries are done, and may end it; what was
/// indexed by then stays so.
pub(super) fn catch_up(
    server: &Server,
    writer: &mut Writer,
    total: u64,
    read: &Reader<'_>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(), ArchiveError> {
    let schema = &server.url.schema;
    let lock = format!(
        "pg_advisory_xact_lock({}), pg_advisory_xact_lock_shared({})",
        Lock::Index.key(schema),
        Lock::Content.key(schema)
    );
    let mut known = HashSet::new();
    let mut n_done = 0;
    while n_done < total {
        let n_indexed = writer.alone(server, &lock, "COMMIT", |session| portion(server, session, read, &mut known))?;
        n_done += n_indexed;
        // Another process may have done the rest.
        if n_indexed == 0 || progress(n_done.min(total), total).is_break() {
            break;
        }
    }
    if n_done >= MANY {
        // By which the server chooses how to go about a search. Who may not tell it to is not stopped by that.
        drop(server.batch(writer.free(server)?, "ANALYZE words, document, word"));
    }
    Ok(())
}

/// What is to be indexed, by its number on the list.
enum Entry {
    Body(i64),
    Record(i64),
}

/// What an entry says, with the number of its body or its record.
type Read = (Option<i64>, Option<i64>, Document);

fn portion(
    server: &Server,
    session: &mut Session,
    read: &Reader<'_>,
    known: &mut HashSet<String>,
) -> Result<u64, ArchiveError> {
    let rows = server.rows(session, NEXT, &[&PORTION, &PORTION_BYTES]).fault(&server.place)?;
    let mut taken: Vec<i64> = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for row in &rows {
        let entry = (|| {
            taken.push(value(row, "seq")?);
            let body: Option<i64> = value(row, "body")?;
            let record: Option<i64> = value(row, "record")?;
            entries.extend(body.map(Entry::Body).or(record.map(Entry::Record)));
            Ok(())
        })();
        entry.map_err(|detail| damaged(server, detail))?;
    }
    if taken.is_empty() {
        return Ok(0);
    }
    let documents = documents(server, session, &entries, read)?;
    let records: Vec<i64> = documents.iter().filter_map(|(_, record, _)| *record).collect();
    // One that was replaced since may have been indexed in between.
    server.execute(session, "DELETE FROM document WHERE record = ANY($1)", &[&records]).fault(&server.place)?;
    store(server, session, &documents, known)?;
    server.execute(session, "DELETE FROM unindexed WHERE seq = ANY($1)", &[&taken]).fault(&server.place)?;
    Ok(taken.len() as u64)
}

/// What the entries say, in their order, with the number of their body or record. A damaged one cannot be found; whoever
/// asks for it is told.
fn documents(
    server: &Server,
    session: &mut Session,
    entries: &[Entry],
    read: &Reader<'_>,
) -> Result<Vec<Read>, ArchiveError> {
    let of = |pick: fn(&Entry) -> Option<i64>| entries.iter().filter_map(pick).collect::<Vec<i64>>();
    let bodies = of(|entry| if let Entry::Body(id) = entry { Some(*id) } else { None });
    let records = of(|entry| if let Entry::Record(id) = entry { Some(*id) } else { None });
    let mut unpacker = Unpacker::default();
    let mut bodies: BTreeMap<i64, PackedBody> = numbered(server, session, BODIES, &bodies, body)?;
    let mut records: BTreeMap<i64, Packed> = numbered(server, session, RECORDS, &records, packed)?;
    let mut packs = HeldPacks::default();
    let mut documents = Vec::new();
    for entry in entries {
        match entry {
            Entry::Body(id) => {
                let body = bodies.remove(id);
                let pack = match body.as_ref().and_then(PackedBody::pack) {
                    Some(id) => Some(match packs.get(id) {
                        Some(pack) => pack,
                        None => sessions::read_pack(server, session, &mut unpacker, id)?,
                    })
                    .inspect(|pack| packs.hold(id, pack)),
                    None => None,
                };
                let line = body.and_then(|body| body.unpack(&mut unpacker, pack.as_deref()));
                documents.extend(line.and_then(|line| read(&line)).map(|document| (Some(*id), None, document)));
            }
            Entry::Record(id) => {
                let record = records.remove(id).and_then(|packed| packed.unpack(&mut unpacker));
                documents.extend(record.map(|record| (None, Some(*id), record.document)));
            }
        }
    }
    Ok(documents)
}

fn numbered<T>(
    server: &Server,
    session: &mut Session,
    sql: &str,
    ids: &[i64],
    row_value: fn(&Row) -> Result<T, Damage>,
) -> Result<BTreeMap<i64, T>, ArchiveError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = server.rows(session, sql, &[&ids]).fault(&server.place)?;
    let numbered = rows.iter().map(|row| Ok((value(row, "id")?, row_value(row)?)));
    numbered.collect::<Result<_, Damage>>().map_err(|detail| damaged(server, detail))
}

fn store(
    server: &Server,
    session: &mut Session,
    documents: &[Read],
    known: &mut HashSet<String>,
) -> Result<(), ArchiveError> {
    const IDS: &str =
        "SELECT nextval(pg_get_serial_sequence('document', 'id')) AS id FROM generate_series(1, $1::bigint)";
    let n_documents = i64::try_from(documents.len()).unwrap_or(0);
    let ids = server.rows(session, IDS, &[&n_documents]).fault(&server.place)?;
    let ids: Result<Vec<i64>, Damage> = ids.iter().map(|row| value(row, "id")).collect();
    let ids = ids.map_err(|detail| damaged(server, detail))?;
    let mut pieces = Pieces::default();
    let mut new_words: BTreeSet<String> = BTreeSet::new();
    for (id, (_, _, document)) in ids.iter().zip(documents) {
        let words = terms::indexed(&document.text);
        let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        pieces.add(*id, &words);
        new_words.extend(words.into_iter().filter(|word| !known.contains(*word)).map(str::to_owned));
    }
    let bodies: Vec<Option<i64>> = documents.iter().map(|(body, _, _)| *body).collect();
    let records: Vec<Option<i64>> = documents.iter().map(|(_, record, _)| *record).collect();
    let kinds: Vec<&str> = documents.iter().map(|(_, _, document)| document.kind.name()).collect();
    let text_of = |text: &Option<String>| text.as_deref().map(text_value);
    let sessions: Vec<_> = documents.iter().map(|(_, _, document)| text_of(&document.session)).collect();
    let speakers: Vec<_> = documents.iter().map(|(_, _, document)| text_of(&document.speaker)).collect();
    let times: Vec<_> = documents.iter().map(|(_, _, document)| document.time.map(to_nanoseconds)).collect();
    let values: Values<'_> = &[&ids, &bodies, &records, &kinds, &sessions, &speakers, &times];
    server.execute(session, INSERT, values).fault(&server.place)?;
    let values: Values<'_> = &[&pieces.documents, &pieces.numbers, &pieces.are_parts, &pieces.lengths, &pieces.terms];
    server.execute(session, INSERT_WORDS, values).fault(&server.place)?;
    let words: Vec<&String> = new_words.iter().collect();
    let learn = "INSERT INTO word SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING";
    server.execute(session, learn, &[&words]).fault(&server.place)?;
    if known.len() > MOST_WORDS {
        known.clear();
    }
    known.extend(new_words);
    Ok(())
}

/// Pieces of entries, column by column.
#[derive(Default)]
struct Pieces {
    documents: Vec<i64>,
    numbers: Vec<i32>,
    are_parts: Vec<bool>,
    lengths: Vec<i32>,
    terms: Vec<String>,
}

impl Pieces {
    fn add(&mut self, document: i64, words: &[&str]) {
        let starts: Vec<usize> = (0..words.len().saturating_sub(OVERLAP).max(1)).step_by(PIECE - OVERLAP).collect();
        for (start, number) in starts.iter().zip(0..) {
            let piece: Vec<&str> = words.iter().skip(*start).take(PIECE).copied().collect();
            self.documents.push(document);
            self.numbers.push(number);
            self.are_parts.push(starts.len() > 1);
            self.lengths.push(i32::try_from(piece.len()).unwrap_or(i32::MAX));
            self.terms.push(with_places(&piece));
        }
    }
}

/// Words with their places, as the server reads them.
fn with_places(words: &[&str]) -> String {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (word, place) in words.iter().zip(1..) {
        let of_word = places.entry(*word).or_default();
        if of_word.len() < MOST_PLACES {
            of_word.push(place);
        }
    }
    let mut text = String::new();
    for (word, places) in places {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        let _ = write!(text, "{}:{} ", quoted(word), places.join(",")); // Writing to a string never fails.
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_04_a_long_entry_is_indexed_in_pieces_that_overlap() {
        let words: Vec<String> = (0..9000).map(|n| format!("w{n}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut pieces = Pieces::default();
        pieces.add(1, &words);
        assert_eq!(pieces.lengths, [4000, 4000, 1040]);
        assert!(pieces.are_parts.iter().all(|is_part| *is_part));
        assert!(pieces.terms[1].contains("'w3980':1 "), "the last words of one piece are the first of the next");
        pieces.add(2, &words[..4000]);
        pieces.add(3, &[]);
        assert_eq!(pieces.documents, [1, 1, 1, 2, 3]);
        assert_eq!(pieces.are_parts[3..], [false, false]);
        assert_eq!(with_places(&["b", "a", "b"]), "'a':2 'b':1,3 ");
        assert!(with_places(&["a"; 300]).ends_with(",255 "));
    }
}
