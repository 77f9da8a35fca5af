//! What a tool answers.

use serde_json::Value;

use crate::report::outcome::Outcome;
use crate::session::error::CommandError;
use ctxc_transcript::text::clipped;

/// The longest text of an error, in characters: one may repeat what was asked for, which may have megabytes.
const LONGEST_ERROR: usize = 2_000;

/// What a tool answers: text for the model, and data where a program may want it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) data: Option<Value>,
    pub(super) status: CallStatus,
}

/// Whether the tool did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStatus {
    /// It did, or there was nothing to do.
    Done,
    /// It did not: the text says why, and what to do.
    Failed,
}

impl Answer {
    /// An answer in words.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), data: None, status: CallStatus::Done }
    }

    /// An error, as a tool result that says what to do: the model reads those, and no errors of the protocol.
    pub(super) fn of_error(error: &CommandError) -> Self {
        // What only the command line can be told helps nobody here.
        let text = error.explained().replace(", or --all-matches for all of them", "");
        Self { text: clipped(&text, LONGEST_ERROR), data: None, status: CallStatus::Failed }
    }

    /// The same with what the model is warned of.
    pub(super) fn warned(mut self, warnings: &[String]) -> Self {
        for warning in warnings {
            self.text.extend(["\nwarning: ", warning]);
        }
        self
    }
}

/// Where the result is, and how to go on in it; nothing where nothing was written.
pub(super) fn new_session(outcome: &Outcome) -> String {
    let Some(id) = outcome.session_id.as_ref().filter(|_| outcome.output.is_some()) else { return String::new() };
    format!(
        "new session: {id}\nthe running session does not change; later calls of these tools act on the new session, with \
         what was added here since"
    )
}
