//! A query carried out on the index.

use super::expression::{Last, Phrase, Wanted, admitted, append, narrow};
use super::link::{Dialect, Link};
use super::value::{Row, values};
use crate::{ArchiveError, Query, terms};

/// The most longer words that one word of a query stands for.
const MOST_LONGER: u32 = 200;

/// The numbers of the documents that `query` finds, best first.
pub(super) fn matching(db: &dyn Link, query: &Query<'_>) -> Result<Vec<i64>, ArchiveError> {
    let terms = terms::terms(query.text);
    let limit = query.limit as usize;
    if terms.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let run = |terms: &[Vec<Phrase>], wanted| match db.dialect() {
        Dialect::Sqlite => crate::sqlite::search::run(db, query, terms, wanted),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => crate::postgres::search::run(db, query, terms, wanted),
    };
    let longer = |terms: &[Vec<String>]| -> Result<Vec<Vec<Phrase>>, ArchiveError> {
        terms.iter().map(|term| any_longer(db, term)).collect()
    };
    let whole: Vec<Vec<Phrase>> = terms.iter().map(|term| vec![whole_phrase(term)]).collect();
    let mut found = run(&whole, Wanted::All)?;
    if found.len() < limit {
        append(&mut found, run(&longer(&terms)?, Wanted::All)?);
        let pieces = terms::pieces(&terms);
        if found.is_empty() && pieces.len() > 1 {
            found = run(&longer(&pieces)?, Wanted::Any)?;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// The numbers of the documents that `query` admits, whatever they say, newest first.
pub(super) fn list_admitted(db: &dyn Link, query: &Query<'_>) -> Result<Vec<i64>, ArchiveError> {
    let admitted = admitted(db.dialect());
    let sql = format!("SELECT document.id FROM document WHERE {admitted} ORDER BY document.id DESC LIMIT $4::bigint");
    let [kind, speaker, sessions] = narrow(db.dialect(), query);
    db.all(&sql, &[kind, speaker, sessions, query.limit.into()], Row::get)
}

/// The ways in which an entry has `term` as part of longer words too: the first word may have something before it, the
/// last something behind it.
fn any_longer(db: &dyn Link, term: &[String]) -> Result<Vec<Phrase>, ArchiveError> {
    let dialect = db.dialect();
    let vocabulary = |has: &str, word: &String| {
        let sql = format!("SELECT word FROM word WHERE {has} ORDER BY length(word) LIMIT $2::bigint");
        db.all(&sql, &values![word, MOST_LONGER], Row::get::<String>)
    };
    let longer: Vec<Phrase> = match term {
        [] => Vec::new(),
        [word] => {
            let words = vocabulary(dialect.pick("instr(word, $1) > 0", "strpos(word, $1) > 0"), word)?;
            words.into_iter().map(|word| Phrase { words: vec![word], last: Last::Whole }).collect()
        }
        [first, rest @ ..] => {
            let ends = dialect.pick("substr(word, -length($1)) = $1", "right(word, length($1)) = $1");
            let phrase = |word| Phrase {
                words: std::iter::once(word).chain(rest.iter().cloned()).collect(),
                last: Last::Beginning,
            };
            vocabulary(ends, first)?.into_iter().map(phrase).collect()
        }
    };
    Ok(if longer.is_empty() { vec![whole_phrase(term)] } else { longer })
}

fn whole_phrase(term: &[String]) -> Phrase {
    Phrase { words: term.to_vec(), last: Last::Whole }
}
