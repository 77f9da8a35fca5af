//! A query carried out on the index of `ctxc find`.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::find_index::{FindIndex, FindPlace};
use super::row::{length, time, time_value};
use super::search::phrase;
use crate::store::search::append;
use crate::{ArchiveError, terms};

/// How many longer words one word of a query may stand for.
const MOST_LONGER: u32 = 50;

/// A shorter word begins too many.
const SHORTEST_BEGINNING: usize = 3;

/// A shorter word, in bytes, is not shortened further.
const SHORTEST_STEM: usize = 4;

/// How many texts with all words are enough, so that those with some of them are left out.
const ENOUGH: usize = 3;

/// What people said counts more than what tools gave back, as far as words tell.
const MATCHING: &str = "SELECT document.id FROM words JOIN document ON document.id = words.rowid
    WHERE words MATCH ?1 AND (?2 IS NULL OR document.project = ?2) AND (?3 IS NULL OR document.speaker = ?3)
        AND (?4 IS NULL OR lower(document.tool) = lower(?4)) AND (?5 IS NULL OR document.time >= ?5)
    ORDER BY words.rank * CASE document.kind WHEN 'prompt' THEN 1.3 WHEN 'answer' THEN 1.2 WHEN 'summary' THEN 0.8
        WHEN 'other' THEN 0.8 ELSE 1.0 END, document.time DESC, document.id DESC LIMIT ?6";

const NAMED: &str = "SELECT kind, speaker, tool, time FROM document WHERE id = ?";

const PLACES: &str = "SELECT source, line, at, start FROM place WHERE document = ? ORDER BY source DESC, line DESC";

/// What is looked for. Whatever is typed is text, as for [`crate::Query`].
#[derive(Clone, Copy, Debug)]
pub struct FindQuery<'a> {
    /// The words.
    pub text: &'a str,
    /// In this project alone.
    pub project: Option<&'a str>,
    /// Said by this speaker alone.
    pub speaker: Option<&'a str>,
    /// Calls and results of this tool alone, in any case.
    pub tool: Option<&'a str>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// How many are wanted.
    pub limit: u32,
}

impl FindQuery<'_> {
    /// Whether there is anything to look for.
    #[must_use]
    pub fn has_words(&self) -> bool {
        terms::words(self.text).next().is_some()
    }
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindHit {
    /// What kind of text it is.
    pub kind: String,
    /// Who said it.
    pub speaker: String,
    /// The tool that was called, or that gave it back.
    pub tool: Option<String>,
    /// When it was said.
    pub time: Option<Timestamp>,
    /// Where it stands; at least one place.
    pub places: Vec<FindPlace>,
}

impl FindIndex {
    /// What `query` finds, best first: texts with the words as they were typed, those with all words or forms of them, then those with words that begin so; where
    /// these are few, those with some of the words; and where there are none, those with words that contain them.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn search(&self, query: &FindQuery<'_>) -> Result<Vec<FindHit>, ArchiveError> {
        let found = matching(&self.connection, query).fault(&self.path)?;
        found.into_iter().map(|document| hit(&self.connection, document).fault(&self.path)).collect()
    }
}

fn matching(connection: &Connection, query: &FindQuery<'_>) -> rusqlite::Result<Vec<i64>> {
    let terms = terms::terms(query.text);
    if terms.is_empty() || query.limit == 0 {
        return Ok(Vec::new());
    }
    let limit = query.limit as usize;
    let mut found = match terms.as_slice() {
        [_] => Vec::new(),
        // What stands there as it was typed comes first.
        _ => run(connection, query, &phrase(&terms.concat()))?,
    };
    append(&mut found, run(connection, query, &joined(&terms, phrase, " AND "))?);
    if found.len() < limit {
        append(&mut found, run(connection, query, &joined(&terms, beginning, " AND "))?);
    }
    let pieces = terms::pieces(&terms);
    if found.len() < ENOUGH && pieces.len() > 1 {
        append(&mut found, run(connection, query, &joined(&pieces, phrase, " OR "))?);
    }
    if found.is_empty() {
        let longer: Vec<String> = terms.iter().map(|term| longer(connection, term)).collect::<rusqlite::Result<_>>()?;
        found = run(connection, query, &longer.join(" AND "))?;
    }
    found.truncate(limit);
    Ok(found)
}

fn run(connection: &Connection, query: &FindQuery<'_>, expression: &str) -> rusqlite::Result<Vec<i64>> {
    let FindQuery { project, speaker, tool, since, limit, .. } = query;
    let mut statement = connection.prepare_cached(MATCHING)?;
    let values = params![expression, project, speaker, tool, since.map(time_value), limit];
    statement.query_map(values, |row| row.get(0))?.collect()
}

fn hit(connection: &Connection, document: i64) -> rusqlite::Result<FindHit> {
    let mut places = connection.prepare_cached(PLACES)?;
    let places = places.query_map([document], |row| {
        let (source, line, at) = (row.get("source")?, row.get("line")?, row.get("at")?);
        Ok(FindPlace { source, line, at, start: length(row, "start")? })
    })?;
    let places = places.collect::<Result<_, _>>()?;
    connection.prepare_cached(NAMED)?.query_row([document], |row| {
        let (kind, speaker, tool) = (row.get("kind")?, row.get("speaker")?, row.get("tool")?);
        Ok(FindHit { kind, speaker, tool, time: time(row, "time")?, places })
    })
}

fn joined(terms: &[Vec<String>], expression: fn(&[String]) -> String, with: &str) -> String {
    terms.iter().map(|term| expression(term)).collect::<Vec<_>>().join(with)
}

/// As [`phrase`], of which the last word may go on.
fn beginning(words: &[String]) -> String {
    let may_go_on = words.last().is_some_and(|word| word.chars().count() >= SHORTEST_BEGINNING);
    phrase(words) + if may_go_on { " *" } else { "" }
}

/// Words that have `term` in them, where it is one word.
fn longer(connection: &Connection, term: &[String]) -> rusqlite::Result<String> {
    let [word] = term else { return Ok(phrase(term)) };
    // The vocabulary has stems, which may end otherwise.
    let stem = word.char_indices().next_back().filter(|(end, _)| *end >= SHORTEST_STEM).map(|(end, _)| end);
    let word = word.get(..stem.unwrap_or(word.len())).unwrap_or(word);
    let mut words = connection
        .prepare_cached("SELECT term FROM vocabulary WHERE instr(term, ?1) > 0 ORDER BY length(term) LIMIT ?2")?;
    let words = words.query_map(params![word, MOST_LONGER], |row| row.get::<_, String>(0))?;
    let words: Vec<String> = words.map(|word| word.map(|word| phrase(&[word]))).collect::<rusqlite::Result<_>>()?;
    Ok(if words.is_empty() { phrase(term) } else { format!("({})", words.join(" OR ")) })
}
