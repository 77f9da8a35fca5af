//! What an archive holds.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FoundEntry, OperationRow};
use crate::report::envelope::Report;
use crate::report::size::{bytes, counted};
use crate::report::table::{Cell, Look, Table};
use ctxc_core::version::SessionSize;
use ctxc_store::Contents;

/// What an archive holds, in short, and its newest operations or entries.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Holdings {
    archive: String,
    counts: Counts,
    /// The newest operations, newest first, where these are listed.
    pub operations: Vec<OperationRow>,
    /// The newest entries of one kind, newest first, where these are listed.
    pub entries: Vec<FoundEntry>,
    /// What sessions take up, the largest first, where these are listed.
    pub sessions: Vec<SizeRow>,
    #[serde(skip)]
    look: Look,
}

impl Report for Holdings {}

/// What a session takes up.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SizeRow {
    /// Its id.
    pub id: String,
    /// What the picker called it.
    pub title: String,
    /// The length of its lines and of the files in its folder.
    pub bytes: u64,
    /// What they take up in the archive. Lines that several sessions have count in each.
    pub stored_bytes: u64,
    /// Whether its file is still there.
    pub is_there: bool,
}

impl SizeRow {
    /// What is told of `size`.
    #[must_use]
    pub fn new(size: SessionSize) -> Self {
        let SessionSize { session, bytes, stored_bytes } = size;
        let is_there = session.path.is_some_and(|path| path.is_file());
        Self { id: session.id, title: session.title, bytes, stored_bytes, is_there }
    }
}

#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ArchiveCounts")]
struct Counts {
    operations: u64,
    originals: u64,
    lines: u64,
    line_bytes: u64,
    records: u64,
    /// The size of the file.
    file_bytes: Option<u64>,
}

impl Holdings {
    /// The archive at the URL `archive`, of which nothing is listed yet.
    #[must_use]
    pub fn new(archive: String, contents: Contents, file_bytes: Option<u64>, look: Look) -> Self {
        let Contents { operations, originals, lines, line_bytes, records } = contents;
        let counts = Counts { operations, originals, lines, line_bytes, records, file_bytes };
        Self { archive, counts, operations: Vec::new(), entries: Vec::new(), sessions: Vec::new(), look }
    }

    /// All of it in one sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        let Counts { operations, lines, line_bytes, records, file_bytes, .. } = self.counts;
        let within = file_bytes.map(|size| format!(" in {}", bytes(size))).unwrap_or_default();
        format!(
            "{} holds {}, {} of {}, and {}{within}",
            self.archive,
            counted(operations, "operation"),
            counted(lines, "line"),
            bytes(line_bytes),
            counted(records, "record")
        )
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.operations.is_empty() {
            let mut table = Table::new(&["operation", "time", "verb", "before", "after", "items", "session"]);
            for row in &self.operations {
                let tokens = |tokens: Option<u64>| tokens.map_or(Cell::Text("-".to_owned()), Cell::Count);
                table.push(vec![
                    row.id.as_str().into(),
                    row.time.as_str().into(),
                    row.verb.as_str().into(),
                    tokens(row.tokens.map(|it| it.before.0)),
                    tokens(row.tokens.map(|it| it.after.0)),
                    Cell::Count(row.cuts),
                    row.session.as_str().into(),
                ]);
            }
            write!(f, "{}", table.render(self.look))?;
        }
        if !self.sessions.is_empty() {
            let mut table = Table::new(&["session", "size", "stored", "file", "title"]);
            for row in &self.sessions {
                let file = if row.is_there { "exists" } else { "deleted" };
                let sizes = [Cell::Bytes(row.bytes), Cell::Bytes(row.stored_bytes)];
                let id = row.id.chars().take(8).collect::<String>();
                let cells = [id.into()].into_iter().chain(sizes).chain([file.into(), row.title.as_str().into()]);
                table.push(cells.collect());
            }
            write!(f, "{}", table.render(self.look))?;
        }
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}
