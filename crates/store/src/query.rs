//! Queries to an archive and their hits.

use super::{Document, DocumentId, DocumentKind, terms};

/// A query. All of it is plain text without a syntax.
///
/// Entries with all words are found, the best first; a word may also be part of a longer one. If no entry has all words,
/// those with some of them are found. Characters of Chinese, Japanese and Korean are single words, and adjacent ones must be
/// adjacent in the text.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The words. A text without letters and digits finds nothing.
    pub text: &'a str,
    /// Only entries of this kind.
    pub kind: Option<DocumentKind>,
    /// Only entries of this speaker.
    pub speaker: Option<&'a str>,
    /// Only entries of these sessions; of all if empty.
    pub sessions: &'a [String],
    /// The maximum number of hits.
    pub limit: u32,
}

impl Query<'_> {
    /// Whether the text has at least one word.
    #[must_use]
    pub fn has_words(&self) -> bool {
        terms::split_words(self.text).next().is_some()
    }
}

/// A found entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The id of the entry.
    pub id: DocumentId,
    /// The entry.
    pub document: Document,
    /// The id of the newest operation that removed it, for a line.
    pub operation: Option<String>,
}

/// A function that interprets an original line, for the archive does not; it returns `None` for a line without text.
pub type Reader<'a> = dyn Fn(&[u8]) -> Option<Document> + 'a;
