//! What is looked for in an archive, and what is found.

use super::{Document, DocumentId, Kind, terms};

/// What is looked for. Whatever is typed is text: there is no syntax that could go wrong.
///
/// Entries that have all its words come first, the best first; a word may also be part of a longer one. Only where no
/// entry has them all, those that have some. Characters of Chinese, Japanese and Korean are words of their own, and
/// those that stand together in the query have to stand together in the text.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The words. Without any letter or digit nothing is found.
    pub text: &'a str,
    /// In entries of this kind alone.
    pub kind: Option<Kind>,
    /// In entries of this speaker alone.
    pub speaker: Option<&'a str>,
    /// In entries of these sessions alone; of all where there are none.
    pub sessions: &'a [String],
    /// How many entries are wanted.
    pub limit: u32,
}

impl Query<'_> {
    /// Whether there is anything to look for.
    #[must_use]
    pub fn has_words(&self) -> bool {
        terms::words(self.text).next().is_some()
    }
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What names it.
    pub id: DocumentId,
    /// The entry.
    pub document: Document,
    /// The id of the newest operation that took it out, for a line.
    pub operation: Option<String>,
}

/// Reads an original line: what it says, or `None` where it has no text. The archive itself does not know what a line
/// means.
pub type Reader<'a> = dyn Fn(&[u8]) -> Option<Document> + 'a;
