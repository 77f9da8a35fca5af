//! One text of a session with its metadata.

use serde::Serialize;

use ctxc_core::apply::Speaker;
use ctxc_transcript::text::Tokens;

/// One text of a session with its metadata. NDJSON rows have every field that is not skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ExportedText {
    /// The turn, from 0; `None` before the first prompt.
    pub(crate) turn: Option<usize>,
    /// The message of the model that contains it, from 1; for a result, that of its call. `None` before the first.
    pub(crate) step: Option<u64>,
    /// The speaker.
    pub(crate) role: Speaker,
    /// `prompt`, `answer`, `thinking`, `call`, `tool_result` or `other`.
    pub(crate) kind: &'static str,
    /// The tool of a call or of a result.
    pub(crate) tool: Option<String>,
    /// The id of the call, also for its result.
    #[serde(skip)]
    pub(crate) call: Option<String>,
    /// The text; that of a call is its input as JSON.
    pub(crate) text: String,
    /// The `chars4` tokens of the text as the session has it.
    pub(crate) tokens: Tokens,
    /// The time as the client wrote it.
    pub(crate) time: Option<String>,
    /// The model that wrote the text.
    #[serde(skip)]
    pub(crate) model: Option<String>,
    /// The version of the client.
    #[serde(skip)]
    pub(crate) client: Option<String>,
    /// The usage recorded with the message.
    #[serde(skip)]
    pub(crate) spent: Option<MessageUsage>,
}

/// The usage of a message as the client recorded it, in tokens of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageUsage {
    /// The prompt, including cache reads and writes.
    pub(crate) prompt: u64,
    /// The part of the prompt read from the cache.
    pub(crate) cached: u64,
    /// The reply.
    pub(crate) completion: u64,
}
