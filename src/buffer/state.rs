//! What is known of a buffer, in one record: its limits, which utterances it holds, and the summary of the others.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{BufferError, Limits, Name};
use ctxc_store::{Archive, ArchiveError, Document, Kind, Record};
use ctxc_transcript::text::{Digest, Tokens, chars4};

/// The state of a buffer without its utterances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// How much it holds.
    pub(crate) limits: Limits,
    /// The summary of what has left; empty where nothing has.
    pub(crate) summary: String,
    /// The number of utterances that the summary covers.
    pub(crate) n_summarized: u64,
    /// The number of the newest utterance that ever was; 0 where there was none.
    pub(super) newest: u64,
    /// The turn of that one.
    pub(super) turn: u64,
    /// What it holds, oldest first.
    pub(super) held: Vec<UtteranceRef>,
    /// What was evicted and is not in the summary yet, oldest first.
    pub(super) waiting: Vec<UtteranceRef>,
    /// When it was last changed.
    changed: Option<Timestamp>,
}

/// One utterance, by what the state knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UtteranceRef {
    pub(super) sequence: u64,
    pub(super) tokens: Tokens,
    /// The key of its record.
    pub(super) key: Digest,
}

/// The state as JSON, but for the summary, which is the text of the record.
#[derive(Serialize, Deserialize)]
struct Meta {
    limits: Limits,
    #[serde(rename = "summarised")]
    summarized: u64,
    newest: u64,
    turn: u64,
    /// Number, tokens and key of each.
    held: Vec<(u64, Tokens, String)>,
    waiting: Vec<(u64, Tokens, String)>,
}

impl State {
    /// How many utterances the buffer holds.
    pub(crate) fn n_held(&self) -> u64 {
        self.held.len() as u64
    }

    /// The number of evicted utterances that are not in the summary yet.
    pub(crate) fn n_waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// The tokens of all that it holds.
    pub(crate) fn total_tokens(&self) -> Tokens {
        self.held.iter().map(|reference| reference.tokens).sum()
    }

    /// The tokens of the summary.
    pub(crate) fn summary_tokens(&self) -> Tokens {
        chars4(&self.summary)
    }

    /// The state of the buffer `name`; that of an empty one where there is none.
    ///
    /// # Errors
    /// When the archive cannot be read, or its record makes no sense.
    pub(super) fn read(archive: &dyn Archive, name: &Name) -> Result<Self, BufferError> {
        let Some(record) = archive.record(Kind::Summary, name.key())? else { return Ok(Self::default()) };
        Self::of_record(record).ok_or_else(|| BufferError::Damaged {
            name: name.to_string(),
            detail: "its record makes no sense".to_owned(),
        })
    }

    fn of_record(record: Record) -> Option<Self> {
        let Meta { limits, summarized, newest, turn, held, waiting } =
            serde_json::from_str(record.meta.as_deref()?).ok()?;
        Some(Self {
            limits,
            summary: record.document.text,
            n_summarized: summarized,
            newest,
            turn,
            held: refs(held)?,
            waiting: refs(waiting)?,
            changed: record.document.time,
        })
    }

    /// Puts the state of the buffer `name`, changed at the time `now`, into the deposit.
    pub(super) fn put(self, archive: &mut dyn Archive, name: &Name, now: Timestamp) -> Result<(), ArchiveError> {
        let Self { limits, summary, n_summarized: summarized, newest, turn, held, waiting, changed } = self;
        // Of two states the later one counts, also where a clock was set back.
        let later = changed.and_then(|changed| changed.checked_add(SignedDuration::from_nanos(1)).ok());
        let time = later.map_or(now, |later| later.max(now));
        let meta = Meta { limits, summarized, newest, turn, held: listed(held), waiting: listed(waiting) };
        archive.put_record(&Record {
            key: name.key(),
            document: Document {
                kind: Kind::Summary,
                session: Some(name.session()),
                speaker: None,
                time: Some(time),
                text: summary,
            },
            meta: Some(serde_json::json!(meta).to_string()),
            expires: None,
        })
    }
}

fn listed(refs: Vec<UtteranceRef>) -> Vec<(u64, Tokens, String)> {
    refs.into_iter().map(|reference| (reference.sequence, reference.tokens, reference.key.to_string())).collect()
}

fn refs(listed: Vec<(u64, Tokens, String)>) -> Option<Vec<UtteranceRef>> {
    let reference = |(sequence, tokens, key): (u64, Tokens, String)| {
        Some(UtteranceRef { sequence, tokens, key: key.parse().ok()? })
    };
    listed.into_iter().map(reference).collect()
}

/// The state of the buffer `name` as somebody else has changed it since it was `known`, when the utterance `sequence`
/// was not there.
///
/// # Errors
/// When nobody has changed it: then the utterance is missing. And when the archive cannot be read.
pub(super) fn changed_since(
    archive: &dyn Archive,
    name: &Name,
    known: &State,
    sequence: u64,
) -> Result<State, BufferError> {
    let state = State::read(archive, name)?;
    if state != *known {
        return Ok(state);
    }
    Err(BufferError::Damaged { name: name.to_string(), detail: format!("utterance {sequence} is missing") })
}

/// Runs `change` while no other writer comes in, and commits what it put. When it fails nothing is changed.
pub(super) fn under_claim<T>(
    archive: &mut dyn Archive,
    change: impl FnOnce(&mut dyn Archive) -> Result<T, BufferError>,
) -> Result<T, BufferError> {
    archive.claim()?;
    let changed = change(archive).and_then(|changed| {
        archive.commit()?;
        Ok(changed)
    });
    if changed.is_err() {
        // The first error says more than one of the way back, after which nothing is kept either.
        let _ = archive.rollback();
    }
    changed
}
