//! What a search found.

use std::fmt;

use serde::Serialize;

use super::snippet::snippet;
use crate::archive::{Document, Hit};
use crate::report::when::to_second;

/// How many digits of a digest name an entry.
const DIGITS: usize = 12;

/// What a search found, best first.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    schema: u32,
    query: String,
    /// The entries.
    pub hits: Vec<FoundEntry>,
}

/// One entry, in short.
#[derive(Clone, Debug, Serialize)]
pub struct FoundEntry {
    /// What `ctxc archive show` takes.
    id: String,
    kind: &'static str,
    session: Option<String>,
    speaker: Option<String>,
    time: Option<String>,
    /// The operation that took it out.
    operation: Option<String>,
    snippet: String,
}

impl FoundEntry {
    /// What `ctxc archive show` takes.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// An entry that was found by `query`, or looked up without one.
    #[must_use]
    pub fn new(query: &str, hit: Hit) -> Self {
        let Document { kind, session, speaker, time, text } = hit.document;
        Self {
            id: hit.id.digest().to_string().chars().take(DIGITS).collect(),
            kind: kind.name(),
            session,
            speaker,
            time: time.map(to_second),
            operation: hit.operation,
            snippet: snippet(query, &text),
        }
    }
}

impl Found {
    /// What a search for `query` found.
    #[must_use]
    pub fn new(query: &str, hits: Vec<Hit>) -> Self {
        let hits = hits.into_iter().map(|hit| FoundEntry::new(query, hit)).collect();
        Self { schema: 1, query: query.to_owned(), hits }
    }
}

impl fmt::Display for FoundEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind, session, speaker, time, operation, snippet } = self;
        write!(f, "{id}  {}  {kind}", time.as_deref().unwrap_or("-"))?;
        for (label, value) in [("by", speaker), ("session", session), ("taken out by", operation)] {
            if let Some(value) = value {
                write!(f, "  {label} {value}")?;
            }
        }
        write!(f, "\n  {snippet}")
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hits.iter().try_for_each(|hit| writeln!(f, "{hit}"))
    }
}
