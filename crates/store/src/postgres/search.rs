//! A query carried out on the index.
//!
//! The server finds the pieces that have the words and picks out the likeliest; how they rank is counted here, from the
//! places of the words, for the server's own ranks know nothing of how rare a word is.

use std::collections::HashMap;
use std::fmt::Write;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rank::{Corpus, Last, Phrase, Piece, ranked};
use super::row::{Damage, text_value, value};
use super::store::Postgres;
use crate::{ArchiveError, Kind, Query, terms};

/// How many longer words one word of a query may stand for.
const MOST_LONGER: i64 = 200;

/// How many pieces are ranked here. Of more, the server chooses by its own rank.
const MOST_PIECES: i64 = 2000;

/// Up to how many pieces are counted of those that have a term.
const MOST_COUNTED: i64 = 10_000;

/// From how many pieces the average length is taken.
const SAMPLE: i64 = 1000;

/// The documents that a query admits, as a condition on `document`.
pub(super) const ADMITTED: &str =
    "($1::text IS NULL OR document.kind = $1) AND ($2::text IS NULL OR document.speaker = $2)
    AND ($3::text[] IS NULL OR document.session = ANY($3))";

/// What a query narrows to, as values of [`ADMITTED`].
pub(super) struct Narrow {
    kind: Option<&'static str>,
    speaker: Option<String>,
    sessions: Option<Vec<String>>,
}

impl Narrow {
    pub(super) fn of(query: &Query<'_>) -> Self {
        let sessions = query.sessions.iter().map(|session| text_value(session)).collect();
        Self {
            kind: query.kind.map(Kind::name),
            speaker: query.speaker.map(text_value),
            sessions: Some(sessions).filter(|sessions: &Vec<String>| !sessions.is_empty()),
        }
    }

    pub(super) fn values(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.kind, &self.speaker, &self.sessions]
    }
}

/// The numbers of the documents that `query` finds, best first.
pub(super) fn matching(archive: &Postgres, query: &Query<'_>) -> Result<Vec<i64>, ArchiveError> {
    let terms = terms::terms(query.text);
    let limit = query.limit as usize;
    if terms.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let whole: Vec<Vec<Phrase>> = terms.iter().map(|term| vec![whole(term)]).collect();
    let mut found = run(archive, query, &whole, Wanted::All)?;
    if found.len() < limit {
        let longer = |terms: &[Vec<String>]| -> Result<Vec<Vec<Phrase>>, ArchiveError> {
            terms.iter().map(|term| any_longer(archive, term)).collect()
        };
        append(&mut found, run(archive, query, &longer(&terms)?, Wanted::All)?);
        let pieces = terms::pieces(&terms);
        if found.is_empty() && pieces.len() > 1 {
            found = run(archive, query, &longer(&pieces)?, Wanted::Any)?;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// The numbers of the documents that `query` admits, whatever they say, newest first.
pub(super) fn newest(archive: &Postgres, query: &Query<'_>) -> Result<Vec<i64>, ArchiveError> {
    let narrow = Narrow::of(query);
    let [kind, speaker, sessions] = narrow.values();
    let sql = format!("SELECT document.id FROM document WHERE {ADMITTED} ORDER BY document.id DESC LIMIT $4");
    archive.all(&sql, &[kind, speaker, sessions, &i64::from(query.limit)], |row| value(row, "id"))
}

/// Whether an entry has to have all terms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Any,
}

fn run(archive: &Postgres, query: &Query<'_>, terms: &[Vec<Phrase>], wanted: Wanted) -> Result<Vec<i64>, ArchiveError> {
    let expressions: Vec<String> = terms.iter().map(|term| expression(term)).collect();
    let any = expressions.join(" | ");
    let all = match wanted {
        Wanted::All => expressions.join(" & "),
        Wanted::Any => any.clone(),
    };
    let long = match wanted {
        Wanted::All if expressions.len() > 1 => long_entries(archive, &expressions)?,
        Wanted::All | Wanted::Any => Vec::new(),
    };
    let pieces = pieces(archive, query, terms, [&all, &any], &long)?;
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    // Of one term alone the weight is the same for all.
    let n_with = if terms.len() == 1 { vec![1.0] } else { counts(archive, &expressions)? };
    Ok(ranked(&pieces, terms, &n_with, corpus(archive)?))
}

/// The pieces that match `all`, and those of the entries `long` that match `any`, with the places of the words.
fn pieces(
    archive: &Postgres,
    query: &Query<'_>,
    terms: &[Vec<Phrase>],
    [all, any]: [&String; 2],
    long: &[i64],
) -> Result<Vec<(i64, Piece)>, ArchiveError> {
    let phrases = || terms.iter().flatten();
    let words: Vec<&str> = phrases().flat_map(|phrase| &phrase.words).map(String::as_str).collect();
    let beginnings: Vec<&str> = phrases()
        .filter(|phrase| phrase.last == Last::Beginning)
        .filter_map(|phrase| phrase.words.last().map(String::as_str))
        .collect();
    let sql = format!(
        "SELECT found.document, found.length, array_agg(term.lexeme) AS words,
            array_agg(array_to_string(term.positions, ' ')) AS places
        FROM (SELECT words.document, words.piece, words.length, words.terms
                FROM words JOIN document ON document.id = words.document
                WHERE {ADMITTED} AND (words.terms @@ $4::text::tsquery
                    OR (words.document = ANY($5::bigint[]) AND words.terms @@ $6::text::tsquery))
                ORDER BY ts_rank(words.terms, $6::text::tsquery, 1) DESC, words.document DESC LIMIT $9) AS found,
            unnest(found.terms) AS term
        WHERE term.lexeme = ANY($7::text[])
            OR EXISTS (SELECT 1 FROM unnest($8::text[]) AS beginning WHERE starts_with(term.lexeme, beginning))
        GROUP BY found.document, found.piece, found.length"
    );
    let narrow = Narrow::of(query);
    let [kind, speaker, sessions] = narrow.values();
    let values: [&(dyn ToSql + Sync); 9] =
        [kind, speaker, sessions, all, &long, any, &words, &beginnings, &MOST_PIECES];
    archive.all(&sql, &values, piece)
}

fn piece(row: &Row) -> Result<(i64, Piece), Damage> {
    let words: Vec<&str> = value(row, "words")?;
    let places: Vec<&str> = value(row, "places")?;
    let mut piece =
        Piece { length: u32::try_from(value::<i32>(row, "length")?).unwrap_or_default(), places: HashMap::new() };
    for (word, places) in words.into_iter().zip(places) {
        let places = places.split(' ').filter_map(|place| place.parse().ok()).collect();
        piece.places.insert(word.to_owned(), places);
    }
    Ok((value(row, "document")?, piece))
}

/// Of the entries that are indexed in several pieces those that have all terms, each in whichever piece.
fn long_entries(archive: &Postgres, expressions: &[String]) -> Result<Vec<i64>, ArchiveError> {
    let each: Vec<String> = (1..=expressions.len())
        .map(|n| format!("SELECT document FROM words WHERE is_part AND terms @@ ${n}::text::tsquery"))
        .collect();
    let values: Vec<&(dyn ToSql + Sync)> = expressions.iter().map(|it| -> &(dyn ToSql + Sync) { it }).collect();
    archive.all(&each.join(" INTERSECT "), &values, |row| value(row, "document"))
}

/// How many pieces have each term.
fn counts(archive: &Postgres, expressions: &[String]) -> Result<Vec<f64>, ArchiveError> {
    const COUNT: &str = "SELECT count(*) AS n FROM
        (SELECT 1 FROM words WHERE terms @@ $1::text::tsquery LIMIT $2) AS with_term";
    let count = |expression: &String| {
        let counted = archive.all(COUNT, &[expression, &MOST_COUNTED], |row| value::<i64>(row, "n"))?;
        Ok(to_float(counted.first().copied().unwrap_or_default()))
    };
    expressions.iter().map(count).collect()
}

/// How many pieces there are, by what the server knows, and how long they are, by a sample.
fn corpus(archive: &Postgres) -> Result<Corpus, ArchiveError> {
    const CORPUS: &str = "SELECT greatest(count(*)::float8, (SELECT reltuples FROM pg_class
                WHERE oid = 'words'::regclass)::float8) AS n_pieces, coalesce(avg(length), 0)::float8 AS average_length
            FROM (SELECT length FROM words LIMIT $1) AS sample";
    let found = archive.all(CORPUS, &[&SAMPLE], |row| {
        Ok(Corpus { n_pieces: value(row, "n_pieces")?, average_length: value(row, "average_length")? })
    })?;
    Ok(found.into_iter().next().unwrap_or(Corpus { n_pieces: 0.0, average_length: 0.0 }))
}

/// A term as the server reads it. Words are letters and digits, but the server's marks are quoted all the same.
fn expression(term: &[Phrase]) -> String {
    let phrases: Vec<String> = term
        .iter()
        .map(|phrase| {
            let mut expression = String::new();
            for word in &phrase.words {
                let arrow = if expression.is_empty() { "" } else { " <-> " };
                let _ = write!(expression, "{arrow}{}", quoted(word)); // Writing to a string never fails.
            }
            if phrase.last == Last::Beginning {
                expression.push_str(":*");
            }
            expression
        })
        .collect();
    format!("({})", phrases.join(" | "))
}

/// A word as it stands in a query or in a list of words.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}

/// The ways in which an entry has `term` as part of longer words too: the first word may have something before it, the
/// last something behind it.
fn any_longer(archive: &Postgres, term: &[String]) -> Result<Vec<Phrase>, ArchiveError> {
    let vocabulary =
        |sql: &str, word: &String| archive.all(sql, &[word, &MOST_LONGER], |row| value::<String>(row, "word"));
    let longer: Vec<Phrase> = match term {
        [] => Vec::new(),
        [word] => {
            let sql = "SELECT word FROM word WHERE strpos(word, $1) > 0 ORDER BY length(word) LIMIT $2";
            let words = vocabulary(sql, word)?;
            words.into_iter().map(|word| Phrase { words: vec![word], last: Last::Whole }).collect()
        }
        [first, rest @ ..] => {
            let sql = "SELECT word FROM word WHERE right(word, length($1)) = $1 ORDER BY length(word) LIMIT $2";
            let phrase = |word| Phrase {
                words: std::iter::once(word).chain(rest.iter().cloned()).collect(),
                last: Last::Beginning,
            };
            vocabulary(sql, first)?.into_iter().map(phrase).collect()
        }
    };
    Ok(if longer.is_empty() { vec![whole(term)] } else { longer })
}

fn whole(term: &[String]) -> Phrase {
    Phrase { words: term.to_vec(), last: Last::Whole }
}

/// Appends what `found` does not have yet.
fn append(found: &mut Vec<i64>, more: Vec<i64>) {
    let n_found = found.len();
    for id in more {
        if !found.iter().take(n_found).any(|known| *known == id) {
            found.push(id);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "what is counted is far below 2^52")]
const fn to_float(count: i64) -> f64 {
    count as f64
}
