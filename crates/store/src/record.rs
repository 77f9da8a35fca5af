//! Records: what the archive keeps beside the lines of transcripts, each under a key of its own.

use jiff::Timestamp;

use super::{Document, Kind};
use ctxc_transcript::text::Digest;

/// An entry that is no line of a transcript, such as a cached result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The key, which is unique among the records of its kind.
    pub key: Digest,
    /// What it says, and of which kind it is.
    pub document: Document,
    /// More about it, as JSON.
    pub meta: Option<String>,
    /// When it may be dropped; `None` where never unasked.
    pub expires: Option<Timestamp>,
}

/// Which records are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordFilter<'a> {
    /// Of this kind alone.
    pub kind: Option<Kind>,
    /// Of this session alone.
    pub session: Option<&'a str>,
    /// Of this speaker alone.
    pub speaker: Option<&'a str>,
    /// Only the newest so many.
    pub last: Option<u32>,
}
