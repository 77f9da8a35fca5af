//! Originals: lines as they were before an operation took them out.

use ctxc_transcript::text::Digest;

/// One line on its way into the archive.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// The whole line as the source has it, its terminator included.
    pub line: &'a [u8],
    /// The uuid of the entry, where it has one.
    pub uuid: Option<&'a str>,
    /// The digest of the line that took its place; `None` when nothing did.
    pub replaced_by: Option<Digest>,
}

/// A removed line as the archive lists it; `Archive::line` returns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredOriginal {
    /// The digest of the whole line.
    pub digest: Digest,
    /// The length of the whole line in bytes.
    pub bytes: u64,
    /// The uuid of the entry, where it had one.
    pub uuid: Option<String>,
    /// The digest of the line that took its place; `None` when nothing did.
    pub replaced_by: Option<Digest>,
    /// The id of the operation that took it out; `None` where that was not noted, as in archives of the first schema.
    pub operation: Option<String>,
}

impl StoredOriginal {
    /// Whether both are notes of the same line in the same place, whoever took it out.
    pub(super) fn is_same_line(&self, other: &Self) -> bool {
        (self.digest, &self.uuid, self.replaced_by) == (other.digest, &other.uuid, other.replaced_by)
    }
}
