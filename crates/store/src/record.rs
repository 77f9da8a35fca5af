//! Records: entries of the archive other than lines of transcripts, each with a key.

use jiff::Timestamp;

use super::{Document, DocumentKind};
use ctxc_transcript::text::Digest;

/// An entry that is not a line of a transcript, such as a cached result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The key, unique among the records of its kind.
    pub key: Digest,
    /// The content and its kind.
    pub document: Document,
    /// Metadata, as JSON.
    pub meta: Option<String>,
    /// The time from which a sweep may drop it; `None` for never.
    pub expires: Option<Timestamp>,
}

/// A filter for records.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordFilter<'a> {
    /// Only records of this kind.
    pub kind: Option<DocumentKind>,
    /// Only records of this session.
    pub session: Option<&'a str>,
    /// Only records of this speaker.
    pub speaker: Option<&'a str>,
    /// Only this number of the newest records.
    pub newest_count: Option<u32>,
}
