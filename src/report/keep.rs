//! The result of `ctxc keep`, as data and as text (N-10).

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::deposit::NewContentSize;
use super::size::{count, count_noun};

/// The sessions that were stored.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub(crate) struct KeepReport {
    /// The archive, without a password.
    pub(crate) archive: String,
    /// The sessions that were stored, in the order read.
    pub(crate) sessions: Vec<KeptRow>,
    /// Files that were not stored.
    pub(crate) problems: Vec<KeepProblem>,
    /// The total that was new to the archive.
    pub(crate) deposit: NewContentSize,
    /// By how many the packs of lines became fewer, as small ones were merged.
    pub(crate) packs_merged: u64,
}

/// One session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct KeptRow {
    /// Its id.
    pub(crate) id: String,
    /// Its file; null for standard input.
    pub(crate) path: Option<String>,
    /// The title that the client shows.
    pub(crate) title: String,
    /// The part of it that the archive already had.
    pub(crate) found: ArchivedPart,
    /// The bytes of the file that were stored, up to its last complete line.
    pub(crate) bytes: u64,
    /// The part that was new to the archive.
    pub(crate) deposit: NewContentSize,
}

/// The part of a session that the archive already had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Found")]
pub(crate) enum ArchivedPart {
    /// Nothing.
    New,
    /// The beginning of it.
    Grown,
    /// Unchanged.
    Unchanged,
}

/// A file that was not stored.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct KeepProblem {
    /// The file.
    pub(crate) path: String,
    /// Why.
    pub(crate) problem: String,
}

impl KeepReport {
    /// A report without sessions.
    pub(crate) fn new(archive: String) -> Self {
        Self { archive, ..Self::default() }
    }

    /// Adds a session.
    pub(crate) fn push_row(&mut self, row: KeptRow) {
        self.deposit.add(row.deposit);
        self.sessions.push(row);
    }
}

impl fmt::Display for KeepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |found| self.sessions.iter().filter(|row| row.found == found).count() as u64;
        let (new, grown, unchanged) = (of(ArchivedPart::New), of(ArchivedPart::Grown), of(ArchivedPart::Unchanged));
        let total = self.sessions.len() as u64;
        write!(
            f,
            "kept {} in {}: {} new, {} grown, {} unchanged; {}",
            count_noun(total, "session"),
            self.archive,
            count(new),
            count(grown),
            count(unchanged),
            self.deposit,
        )
    }
}
