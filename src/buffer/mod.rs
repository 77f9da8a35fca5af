//! Rolling buffers: the newest utterances of a conversation, word for word, and a summary of what has left.
//!
//! A buffer has a [`Name`] in an archive. [`push()`] puts utterances behind those that are there, and evicts the oldest
//! until the rest keeps to the buffer's [`Limits`]. What is evicted stays in the archive and waits for [`settle()`], which
//! has it summarized into the summary so far; whoever calls says how texts are summarized. So a push never waits for an engine
//! while others wait for the archive, and an engine that fails loses nothing: what waits is summarized the next time.
//!
//! All that is known of a buffer stands in one record, its [`State`], which is read, changed and put back under a claim
//! of the archive. A push therefore takes time by what the buffer holds, and not by what the archive does.
//! `docs/decisions/0026-buffer.md` says why it is made so.

mod delete;
mod error;
mod limits;
mod name;
mod push;
mod read;
mod settle;
mod speaker;
mod state;
#[cfg(test)]
mod tests;
mod utterance;

pub(crate) use delete::{Deleted, delete, delete_all};
pub(crate) use error::BufferError;
pub(crate) use limits::{Change, Limits};
pub(crate) use name::{Name, NotAName};
pub(crate) use push::{Pushed, push};
pub(crate) use read::{contents, names, search, state};
pub(crate) use settle::{Due, Settled, settle};
pub(crate) use speaker::Speaker;
pub(crate) use state::State;
pub(crate) use utterance::{Spoken, Utterance};
