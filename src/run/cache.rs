//! Results that were paid for, kept in the archive so that they are not paid for twice.

use jiff::Timestamp;

use super::question::Question;
use crate::archive::{Archive, ArchiveError, Document, Kind, Record};
use crate::engine::Inquiry;
use crate::text::{Digest, Tokens};

/// A store of results, each under a digest of everything that it depends on.
pub struct Cache<'a> {
    archive: &'a mut dyn Archive,
    /// Noted with each result.
    session: Option<String>,
    /// When this run began.
    time: Timestamp,
    /// Whether something was put since the last commit.
    is_dirty: bool,
}

impl std::fmt::Debug for Cache<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("session", &self.session).field("time", &self.time).finish_non_exhaustive()
    }
}

/// The key of the result of `inquiry` by `engine` for `text` with this target: the text as it leaves the machine, so that
/// no digest of a secret is kept.
pub(super) fn key(engine: &str, inquiry: &Inquiry, target: Tokens, text: &str) -> Digest {
    let parts = [engine, &inquiry.model, inquiry.prompt, &target.0.to_string(), text];
    // With their lengths, so that no two lists of parts are one.
    let joined = parts.map(|part| format!("{}:{part}", part.len())).concat();
    Digest::of(joined.as_bytes())
}

impl<'a> Cache<'a> {
    /// The results in `archive`. New ones are noted as of `session` and `time`.
    pub fn new(archive: &'a mut dyn Archive, session: Option<String>, time: Timestamp) -> Self {
        Self { archive, session, time, is_dirty: false }
    }

    /// The reply with this key.
    pub(super) fn find(&self, key: Digest) -> Result<Option<String>, ArchiveError> {
        Ok(self.archive.record(Kind::Result, key)?.map(|record| record.document.text))
    }

    /// Notes the reply to `question`.
    pub(super) fn put(&mut self, question: &Question, text: &str) -> Result<(), ArchiveError> {
        let (Some(key), Some(inquiry)) = (question.key, &question.inquiry) else { return Ok(()) };
        self.is_dirty = true;
        self.archive.put_record(&Record {
            key,
            document: Document {
                kind: Kind::Result,
                session: self.session.clone(),
                speaker: None,
                time: Some(self.time),
                text: text.to_owned(),
            },
            meta: Some(serde_json::json!({"model": inquiry.model, "prompt": inquiry.prompt}).to_string()),
            expires: None,
        })
    }

    /// Makes durable what was noted, as a whole.
    pub(super) fn commit(&mut self) -> Result<(), ArchiveError> {
        if std::mem::take(&mut self.is_dirty) { self.archive.commit() } else { Ok(()) }
    }
}
