//! One text of a session, with what the client tells of it.

use ctxc_core::apply::Speaker;
use ctxc_transcript::text::Tokens;

/// One text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its turn, from 0; `None` before the first prompt.
    pub(crate) turn: Option<usize>,
    /// The message of the model that it belongs to, from 1; for a result that of its call. `None` before the first.
    pub(crate) step: Option<u64>,
    /// Who says it.
    pub(crate) role: Speaker,
    /// What kind of text it is: `prompt`, `answer`, `thinking`, `call`, `tool_result` or `other`.
    pub(crate) kind: &'static str,
    /// The tool, of a call and of a result.
    pub(crate) tool: Option<String>,
    /// The id of the call, likewise.
    pub(crate) call: Option<String>,
    /// The text; that of a call is its input as JSON.
    pub(crate) text: String,
    /// The `chars4` tokens of the text as the session has it.
    pub(crate) tokens: Tokens,
    /// When it was said, as the client wrote it.
    pub(crate) time: Option<String>,
    /// The model that said it.
    pub(crate) model: Option<String>,
    /// The version of the client.
    pub(crate) client: Option<String>,
    /// What the message was recorded to use.
    pub(crate) spent: Option<Spent>,
}

/// The usage of a message as the client recorded it, in tokens of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Of the prompt, what was read from the cache and written to it included.
    pub(crate) prompt: u64,
    /// Of the prompt, what was read from the cache.
    pub(crate) cached: u64,
    /// Of the reply.
    pub(crate) completion: u64,
}
