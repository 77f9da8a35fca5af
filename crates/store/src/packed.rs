//! A record as a row of a database: its text packed, beside what the text is known by again.

use super::Record;
use super::body::Unpacker;
use ctxc_transcript::text::Digest;

/// The length of a checksum in bytes.
const CHECKSUM: usize = 8;

/// The row of a record, its text still packed.
pub(super) struct Packed {
    /// How the text is packed.
    pub(super) codec: i64,
    /// The length of the text in bytes.
    pub(super) bytes: u64,
    /// The text, packed.
    pub(super) content: Vec<u8>,
    /// The [`checksum`] of the text.
    pub(super) checksum: Vec<u8>,
    /// The record without its text.
    pub(super) record: Record,
}

impl Packed {
    pub(super) const fn key(&self) -> Digest {
        self.record.key
    }

    /// The record; `None` where its text is not what was stored.
    pub(super) fn unpack(self, unpacker: &mut Unpacker) -> Option<Record> {
        let Self { codec, bytes, content, checksum, mut record } = self;
        let text = unpacker.unpack_checked(codec, content, bytes, &checksum)?;
        record.document.text = String::from_utf8(text).ok()?;
        Some(record)
    }
}

/// What a text is known by again.
pub(super) fn checksum(text: &str) -> Vec<u8> {
    Digest::of(text.as_bytes()).as_bytes().iter().take(CHECKSUM).copied().collect()
}
