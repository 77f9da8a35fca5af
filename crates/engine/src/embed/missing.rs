//! Vectors for entries that have none yet.

use std::ops::ControlFlow;

use super::{EmbedError, Embedder};
use crate::redact::Redactor;
use ctxc_store::{Archive, ArchiveError, DocumentId, Entry, Hit, Vector};
use ctxc_transcript::text::{Tokens, chars4};

/// How many texts go into one request.
const AT_A_TIME: usize = 64;

/// How much of an entry is sent, in characters: some 1,500 tokens, which every model takes. What an entry is about stands
/// at its beginning most often.
const LONGEST: usize = 6000;

/// The texts that were sent, and the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Entries that have a vector now.
    pub entries: u64,
    /// The tokens of what was sent: those that the server counted, where it says so, else an estimate.
    pub tokens: Tokens,
}

/// Why entries have no vectors.
#[derive(Debug, thiserror::Error)]
pub enum MissingError {
    /// The server gave none.
    #[error(transparent)]
    Server(#[from] EmbedError),
    /// The archive took none.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// The part of a text that is sent: its beginning, without the secrets that `redactor` finds.
#[must_use]
pub fn sendable(text: &str, redactor: Option<&mut Redactor>) -> String {
    // Secrets are looked for in all of it: one that is cut off would look like none.
    let text = redactor.map_or_else(|| text.to_owned(), |redactor| redactor.redact(text).text);
    text.chars().take(LONGEST).collect()
}

/// Asks for a vector of each of `entries` and keeps it, a request at a time. `progress` is told how many are done, and
/// may end it; what was kept by then stays.
///
/// # Errors
/// When the server or the archive fails; what was kept by then stays.
pub fn embed_missing(
    archive: &mut dyn Archive,
    embedder: &Embedder,
    entries: &[(DocumentId, String)],
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Sent, MissingError> {
    let mut sent = Sent::default();
    for portion in entries.chunks(AT_A_TIME) {
        let texts: Vec<String> = portion.iter().map(|(_, text)| text.clone()).collect();
        let reply = embedder.embed(&texts)?;
        let estimate = || texts.iter().map(|text| chars4(text)).sum();
        sent.tokens += reply.usage.map_or_else(estimate, |usage| usage.input);
        let vectors: Vec<(DocumentId, Option<Vector>)> = portion.iter().map(|(id, _)| *id).zip(reply.vectors).collect();
        archive.put(Entry::Vectors(embedder.model(), &vectors))?;
        archive.commit()?;
        sent.entries += portion.len() as u64;
        if progress(sent.entries).is_break() {
            break;
        }
    }
    Ok(sent)
}

/// The vector of what is looked for; `None` where it has no direction.
///
/// # Errors
/// When the server fails.
pub fn embed_query(embedder: &Embedder, text: String) -> Result<Option<Vector>, EmbedError> {
    Ok(embedder.embed(&[text])?.vectors.pop().flatten())
}

/// The entries as they are sent, with what names them.
#[must_use]
pub fn prepared(entries: Vec<Hit>, mut redactor: Option<&mut Redactor>) -> Vec<(DocumentId, String)> {
    // A secret that a rule finds in one is replaced in all.
    if let Some(redactor) = &mut redactor {
        for entry in &entries {
            redactor.learn(&entry.document.text);
        }
    }
    entries.into_iter().map(|entry| (entry.id, sendable(&entry.document.text, redactor.as_deref_mut()))).collect()
}
