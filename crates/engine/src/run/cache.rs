//! Results that were paid for, kept in the archive so that they are not paid for twice.

use jiff::Timestamp;

use super::question::Question;
use crate::{Fold, Inquiry};
use ctxc_store::{Archive, ArchiveError, Document, Kind, Record};
use ctxc_transcript::text::{Digest, Tokens};

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
    digest(&[engine, &inquiry.model, inquiry.prompt, &target.0.to_string(), text])
}

/// The key of the summary by `inquiry` of `fold`, which is as it leaves the machine.
pub(super) fn key_of_fold(engine: &str, inquiry: &Inquiry, fold: &Fold<'_>) -> Digest {
    let limit = fold.limit.0.to_string();
    let own = fold.prompt.map_or("", |prompt| prompt);
    let mut parts = vec![engine, "fold", &inquiry.model, inquiry.prompt, &limit, fold.persona, own, fold.existing];
    parts.extend(fold.messages.iter().flat_map(|said| [said.speaker.as_str(), said.text.as_str()]));
    digest(&parts)
}

/// A digest of `parts` with their lengths, so that no two lists of them are one.
fn digest(parts: &[&str]) -> Digest {
    let joined = parts.iter().map(|part| format!("{}:{part}", part.len())).collect::<Vec<_>>().concat();
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
        self.put_reply(key, inquiry, text)
    }

    /// Notes `text` as the reply to `inquiry`, under `key`.
    pub(super) fn put_reply(&mut self, key: Digest, inquiry: &Inquiry, text: &str) -> Result<(), ArchiveError> {
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
