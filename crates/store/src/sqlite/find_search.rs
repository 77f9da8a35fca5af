//! A query carried out on the index of `ctxc find`.

use jiff::Timestamp;

use super::find_index::{FindIndex, FindPlace};
use super::search::phrase;
use crate::store::link::Link;
use crate::store::search::append;
use crate::store::value::{Row, values};
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
    WHERE words MATCH $1 AND ($2 IS NULL OR document.project = $2) AND ($3 IS NULL OR document.speaker = $3)
        AND ($4 IS NULL OR lower(document.tool) = lower($4)) AND ($5 IS NULL OR document.time >= $5)
    ORDER BY words.rank * CASE document.kind WHEN 'prompt' THEN 1.3 WHEN 'answer' THEN 1.2 WHEN 'summary' THEN 0.8
        WHEN 'other' THEN 0.8 ELSE 1.0 END, document.time DESC, document.id DESC LIMIT $6";

const NAMED: &str = "SELECT kind, speaker, tool, time FROM document WHERE id = $1";

const PLACES: &str = "SELECT source, line, at, start FROM place WHERE document = $1 ORDER BY source DESC, line DESC";

/// A search query. All of it is text, as for [`crate::Query`].
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
    /// The time of the entry.
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
        let found = matching(self.db(), query)?;
        let hits = found.into_iter().map(|document| hit(self.db(), document));
        hits.filter_map(Result::transpose).collect()
    }
}

fn matching(db: &dyn Link, query: &FindQuery<'_>) -> Result<Vec<i64>, ArchiveError> {
    let terms = terms::terms(query.text);
    if terms.is_empty() || query.limit == 0 {
        return Ok(Vec::new());
    }
    let limit = query.limit as usize;
    let mut found = match terms.as_slice() {
        [_] => Vec::new(),
        // What stands there as it was typed comes first.
        _ => run(db, query, &phrase(&terms.concat()))?,
    };
    append(&mut found, run(db, query, &joined(&terms, phrase, " AND "))?);
    if found.len() < limit {
        append(&mut found, run(db, query, &joined(&terms, beginning, " AND "))?);
    }
    let pieces = terms::pieces(&terms);
    if found.len() < ENOUGH && pieces.len() > 1 {
        append(&mut found, run(db, query, &joined(&pieces, phrase, " OR "))?);
    }
    if found.is_empty() {
        let longer: Vec<String> = terms.iter().map(|term| longer(db, term)).collect::<Result<_, ArchiveError>>()?;
        found = run(db, query, &longer.join(" AND "))?;
    }
    found.truncate(limit);
    Ok(found)
}

fn run(db: &dyn Link, query: &FindQuery<'_>, expression: &str) -> Result<Vec<i64>, ArchiveError> {
    let FindQuery { project, speaker, tool, since, limit, .. } = query;
    let values = values![expression, *project, *speaker, *tool, *since, *limit];
    db.all(MATCHING, &values, Row::get)
}

fn hit(db: &dyn Link, document: i64) -> Result<Option<FindHit>, ArchiveError> {
    let mut places = Some(db.all(PLACES, &values![document], |row| {
        let (source, line, at) = (row.get()?, row.get()?, row.get()?);
        Ok(FindPlace { source, line, at, start: row.get()? })
    })?);
    db.one(NAMED, &values![document], |row| {
        let (kind, speaker, tool, time) = (row.get()?, row.get()?, row.get()?, row.get()?);
        Ok(FindHit { kind, speaker, tool, time, places: places.take().unwrap_or_default() })
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
fn longer(db: &dyn Link, term: &[String]) -> Result<String, ArchiveError> {
    let [word] = term else { return Ok(phrase(term)) };
    // The vocabulary has stems, which may end otherwise.
    let stem = word.char_indices().next_back().filter(|(end, _)| *end >= SHORTEST_STEM).map(|(end, _)| end);
    let word = word.get(..stem.unwrap_or(word.len())).unwrap_or(word);
    let find = "SELECT term FROM vocabulary WHERE instr(term, $1) > 0 ORDER BY length(term) LIMIT $2";
    let words = db.all(find, &values![word, MOST_LONGER], Row::get::<String>)?;
    let words: Vec<String> = words.iter().map(|word| phrase(std::slice::from_ref(word))).collect();
    Ok(if words.is_empty() { phrase(term) } else { format!("({})", words.join(" OR ")) })
}
