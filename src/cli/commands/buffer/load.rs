//! `ctxc buffer load`: put what was said in a session into the buffer.

use anyhow::Context;

use super::fill::{Filling, fill};
use super::run::Desk;
use crate::buffer::{Speaker, Spoken};
use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::ui::Ui;
use ctxc_core::apply;
use ctxc_core::apply::{SpokenMessage, read_spoken};
use ctxc_transcript::session::Found;

/// What is loaded, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    pub(crate) filling: Filling,
}

impl Settings {
    /// What was said in the session.
    pub(super) fn spoken(&self, ui: &Ui) -> Result<Vec<Spoken>, CommandError> {
        let reading = Reading::of(&self.source, ui)?;
        let messages = read_spoken(reading.transcript()).with_context(|| format!("read {}", reading.name))?;
        if messages.is_empty() {
            ui.status(format_args!("no messages in {}", reading.name));
        }
        Ok(messages.into_iter().map(utterance).collect())
    }
}

pub(super) fn run(settings: Settings, spoken: Vec<Spoken>, desk: Desk<'_>) -> Result<Completion, CommandError> {
    fill(spoken, settings.filling, desk)
}

fn utterance(message: SpokenMessage) -> Spoken {
    let SpokenMessage { speaker, turn, time, text } = message;
    let speaker = match speaker {
        apply::Speaker::User => Speaker::User,
        apply::Speaker::Assistant => Speaker::Assistant,
        apply::Speaker::Tool | apply::Speaker::System => Speaker::System,
    };
    // What stands before the first turn belongs to none.
    let turn = turn.map_or(0, |turn| turn.0 as u64 + 1);
    Spoken { speaker, turn: Some(turn), time, text }
}
