//! What `ctxc keep` did, as data and as text (N-10).

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Report;
use super::size::{bytes, count, counted};

/// The sessions that were stored.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct KeepReport {
    /// The archive, without a password.
    pub archive: String,
    /// The sessions that were stored, in the order read.
    pub sessions: Vec<KeptRow>,
    /// Files that were not stored.
    pub problems: Vec<KeepProblem>,
    /// The total that was new to the archive.
    pub deposit: DepositSize,
    /// By how many the packs of lines became fewer, as small ones were merged.
    pub packs_merged: u64,
}

impl Report for KeepReport {}

/// How much the archive did not have yet of a session, before it is compressed. A line that another session has too is not
/// stored again, and counts here all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DepositSize {
    /// Lines of the transcript.
    pub lines: u64,
    /// The number of files of its folder that were new or changed.
    pub files: u64,
    /// The size of both in bytes.
    pub bytes: u64,
}

/// One session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct KeptRow {
    /// Its id.
    pub id: String,
    /// Its file; null for standard input.
    pub path: Option<String>,
    /// The title that the client shows.
    pub title: String,
    /// How much of it the archive already had.
    pub found: Found,
    /// How many bytes of the file were stored, up to its last complete line.
    pub bytes: u64,
    /// The part that was new to the archive.
    pub deposit: DepositSize,
}

/// How much of a session the archive already had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Nothing.
    New,
    /// The beginning of it.
    Grown,
    /// Unchanged.
    Unchanged,
}

/// A file that was not stored.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct KeepProblem {
    /// The file.
    pub path: String,
    /// Why.
    pub problem: String,
}

impl KeepReport {
    /// Nothing yet.
    #[must_use]
    pub const fn new(archive: String) -> Self {
        let deposit = DepositSize { lines: 0, files: 0, bytes: 0 };
        Self { archive, sessions: Vec::new(), problems: Vec::new(), deposit, packs_merged: 0 }
    }

    /// Takes what became of one session.
    pub fn add(&mut self, row: KeptRow) {
        self.deposit.add(row.deposit);
        self.sessions.push(row);
    }
}

impl DepositSize {
    /// Both together.
    pub const fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

impl fmt::Display for DepositSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", counted(self.lines, "new line"))?;
        if self.files > 0 {
            write!(f, ", {}", counted(self.files, "new file"))?;
        }
        write!(f, " ({})", bytes(self.bytes))
    }
}

impl fmt::Display for KeepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |found| self.sessions.iter().filter(|row| row.found == found).count() as u64;
        let (new, grown, unchanged) = (of(Found::New), of(Found::Grown), of(Found::Unchanged));
        let total = self.sessions.len() as u64;
        write!(
            f,
            "kept {} in {}: {} new, {} grown, {} unchanged; {}",
            counted(total, "session"),
            self.archive,
            count(new),
            count(grown),
            count(unchanged),
            self.deposit,
        )
    }
}
