//! What went from an archive, or would go.

use std::fmt;

use serde::Serialize;

use crate::archive::{Dropped, RESULT_DAYS};
use crate::report::size::{bytes, counted};

/// What went from an archive, or would go.
#[derive(Clone, Debug, Serialize)]
pub struct Swept {
    schema: u32,
    verb: &'static str,
    archive: String,
    /// Whether this is only what would go.
    dry_run: bool,
    results: u64,
    expired: u64,
    originals: u64,
    operations: u64,
    lines: u64,
    bytes: u64,
    /// The size of the file before and after.
    file_bytes: Option<(u64, u64)>,
}

impl Swept {
    /// What would go from the archive at the URL `archive`.
    #[must_use]
    pub fn counted(archive: String, dropped: Dropped) -> Self {
        let Dropped { results, expired, originals, operations, lines, bytes } = dropped;
        Self {
            schema: 1,
            verb: "archive gc",
            archive,
            dry_run: true,
            results,
            expired,
            originals,
            operations,
            lines,
            bytes,
            file_bytes: None,
        }
    }

    /// It went, and the file has become so much smaller.
    #[must_use]
    pub fn done(self, file_bytes: Option<(u64, u64)>) -> Self {
        Self { dry_run: false, file_bytes, ..self }
    }
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = if self.dry_run { "would drop" } else { "dropped" };
        let results = format!("{} older than {RESULT_DAYS} days", counted(self.results, "cached result"));
        write!(f, "{head} from {}: {results}, {}", self.archive, counted(self.expired, "expired record"))?;
        if self.originals > 0 {
            let of = counted(self.operations, "operation");
            write!(f, ", what {of} took out ({})", counted(self.originals, "line"))?;
        }
        write!(f, ", {} that nothing refers to ({})", counted(self.lines, "line"), bytes(self.bytes))?;
        match self.file_bytes {
            Some((before, after)) => write!(f, "; the file had {}, it has {}", bytes(before), bytes(after)),
            None => Ok(()),
        }
    }
}
