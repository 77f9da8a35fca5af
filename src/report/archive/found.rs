//! The matches of a search in an archive.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::snippet::match_snippet;
use crate::report::when::to_second;
use ctxc_engine::Usd;
use ctxc_store::{Document, Hit};
use ctxc_transcript::text::Tokens;

/// The number of digits of a digest that name an entry.
const DIGITS: usize = 12;

/// The matches of a search, best first.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct FoundEntries {
    query: String,
    /// Details of a search by meaning; null for other searches.
    meaning: Option<MeaningReport>,
    /// The entries.
    pub(crate) hits: Vec<FoundEntry>,
}

/// The texts that a search by meaning sent, and the server.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Meant")]
pub(crate) struct MeaningReport {
    /// The server.
    pub(crate) host: String,
    /// The model.
    pub(crate) model: String,
    /// The number of entries that got a vector.
    pub(crate) entries: u64,
    /// Their tokens, as the server counted them, or an estimate.
    pub(crate) tokens: Tokens,
    /// The cost of these and the query in US dollars; null where the price is unknown.
    pub(crate) cost: Option<Usd>,
}

/// One entry, in short.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct FoundEntry {
    /// The id for `ctxc archive show`.
    id: String,
    kind: &'static str,
    session: Option<String>,
    speaker: Option<String>,
    time: Option<String>,
    /// The operation that removed it.
    operation: Option<String>,
    snippet: String,
}

impl FoundEntry {
    /// The id for `ctxc archive show`.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// An entry that `query` matched, or that was listed without one.
    pub(crate) fn new(query: &str, hit: Hit) -> Self {
        let Document { kind, session, speaker, time, text } = hit.document;
        Self {
            id: hit.id.digest().to_string().chars().take(DIGITS).collect(),
            kind: kind.name(),
            session,
            speaker,
            time: time.map(to_second),
            operation: hit.operation,
            snippet: match_snippet(query, &text),
        }
    }
}

impl FoundEntries {
    /// The matches of `query`; `meant` is the report of a search by meaning.
    pub(crate) fn new(query: &str, hits: Vec<Hit>, meant: Option<MeaningReport>) -> Self {
        let hits = hits.into_iter().map(|hit| FoundEntry::new(query, hit)).collect();
        Self { query: query.to_owned(), meaning: meant, hits }
    }
}

impl fmt::Display for FoundEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind, session, speaker, time, operation, snippet } = self;
        write!(f, "{id}  {}  {kind}", time.as_deref().unwrap_or("-"))?;
        for (label, value) in [("by", speaker), ("session", session), ("removed by", operation)] {
            if let Some(value) = value {
                write!(f, "  {label} {value}")?;
            }
        }
        write!(f, "\n  {snippet}")
    }
}

impl fmt::Display for FoundEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hits.iter().try_for_each(|hit| writeln!(f, "{hit}"))
    }
}
