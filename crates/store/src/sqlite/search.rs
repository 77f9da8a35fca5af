//! Queries on the full-text index of a file.

use crate::store::expression::{Last, Phrase, Wanted, admitted, narrow};
use crate::store::link::{Dialect, Link};
use crate::store::value::Row;
use crate::{ArchiveError, Query};

/// The numbers of the documents that match the terms, each of which is a set of alternative phrases; best first.
pub(crate) fn run(
    db: &dyn Link,
    query: &Query<'_>,
    terms: &[Vec<Phrase>],
    wanted: Wanted,
) -> Result<Vec<i64>, ArchiveError> {
    let terms: Vec<String> = terms.iter().map(|term| any(term)).collect();
    let expression = terms.join(if wanted == Wanted::All { " AND " } else { " OR " });
    let sql = format!(
        "SELECT document.id FROM words JOIN document ON document.id = words.rowid
        WHERE words MATCH $4 AND {} ORDER BY words.rank, document.id DESC LIMIT $5",
        admitted(Dialect::Sqlite)
    );
    let [kind, speaker, sessions] = narrow(Dialect::Sqlite, query);
    db.all(&sql, &[kind, speaker, sessions, expression.into(), query.limit.into()], Row::get)
}

fn any(term: &[Phrase]) -> String {
    let phrases = term.iter().map(|Phrase { words, last }| {
        // The star makes the last word match as a prefix.
        phrase(words) + if *last == Last::Beginning { " *" } else { "" }
    });
    format!("({})", phrases.collect::<Vec<_>>().join(" OR "))
}

/// The expression for successive words, which contain no quotes.
pub(crate) fn phrase(words: &[String]) -> String {
    format!("\"{}\"", words.join(" "))
}
