//! The size of the content that an operation or `ctxc keep` added to the archive.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::size::{count_noun, format_bytes};

/// The uncompressed part of a session that the archive did not have yet. A line that another session has too counts, although
/// it is not stored again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "DepositSize")]
pub(crate) struct NewContentSize {
    /// Lines of the transcript.
    pub(crate) lines: u64,
    /// The number of files of its folder that were new or changed.
    pub(crate) files: u64,
    /// The size of both in bytes.
    pub(crate) bytes: u64,
}

impl NewContentSize {
    /// Adds the size of another deposit.
    pub(crate) const fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

impl fmt::Display for NewContentSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", count_noun(self.lines, "new line"))?;
        if self.files > 0 {
            write!(f, ", {}", count_noun(self.files, "new file"))?;
        }
        write!(f, " ({})", format_bytes(self.bytes))
    }
}
