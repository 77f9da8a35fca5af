//! What somebody said, before and after it is in a buffer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Name, Speaker};
use ctxc_store::{Document, Kind, Record};
use ctxc_transcript::text::{Digest, Tokens, chars4};

/// A text to push into a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// Who said it.
    pub(crate) speaker: Speaker,
    /// In which turn. Without a number it is the turn of what was said before, or the next one where a user speaks.
    pub(crate) turn: Option<u64>,
    /// When; without a time it is said when it is pushed.
    pub(crate) time: Option<Timestamp>,
    /// What, byte for byte.
    pub(crate) text: String,
}

/// An utterance of a buffer (H-03).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// Its number within the buffer, from 1. It never changes, and no other utterance gets it.
    pub(crate) sequence: u64,
    /// Its place among what the buffer holds, oldest first, from 0. It changes when older ones go.
    pub(crate) place: usize,
    /// The turn in which it was said.
    pub(crate) turn_number: u64,
    /// Who said it.
    pub(crate) speaker: Speaker,
    /// When.
    pub(crate) time: Timestamp,
    /// What, byte for byte.
    pub(crate) text: String,
}

/// What the record of an utterance says beside its document.
#[derive(Serialize, Deserialize)]
struct Meta {
    sequence: u64,
    turn: u64,
}

impl Utterance {
    /// Its size, in `chars4` tokens.
    pub(crate) fn tokens(&self) -> Tokens {
        chars4(&self.text)
    }

    /// The record of the utterance in the buffer `name`. Its key follows from all that it says, so that utterances of one
    /// number, of copies of a buffer that went on apart, never take each other's place.
    pub(super) fn record(&self, name: &Name) -> Record {
        let Self { sequence, turn_number, speaker, time, text, .. } = self;
        let identity = (name.session(), sequence, turn_number, speaker.name(), time.as_nanosecond().to_string(), text);
        Record {
            key: Digest::of(serde_json::json!(identity).to_string().as_bytes()),
            document: Document {
                kind: Kind::Utterance,
                session: Some(name.session()),
                speaker: Some(speaker.name().to_owned()),
                time: Some(*time),
                text: text.clone(),
            },
            meta: Some(serde_json::json!(Meta { sequence: *sequence, turn: *turn_number }).to_string()),
            expires: None,
        }
    }

    /// The utterance that `record` holds, at this place; `None` where it holds none.
    pub(super) fn of_record(record: Record, place: usize) -> Option<Self> {
        let Meta { sequence, turn } = serde_json::from_str(record.meta.as_deref()?).ok()?;
        let Document { speaker, time, text, .. } = record.document;
        let speaker = speaker?.parse().ok()?;
        Some(Self { sequence, place, turn_number: turn, speaker, time: time?, text })
    }
}
