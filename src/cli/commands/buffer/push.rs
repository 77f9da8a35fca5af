//! `ctxc buffer push`: put an utterance into the buffer.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, anyhow};

use super::fill::{Filling, fill};
use super::run::Desk;
use crate::buffer::{Speaker, Spoken};
use crate::cli::error::{CommandError, Completion};
use crate::cli::interrupt::while_waiting;

/// What is pushed, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) said: Said,
    pub(crate) speaker: Speaker,
    pub(crate) turn: Option<u64>,
    pub(crate) filling: Filling,
}

/// Where an utterance comes from.
#[derive(Debug)]
pub(crate) enum Said {
    /// From the command line.
    Text(String),
    StandardInput,
}

impl Settings {
    /// The utterance. What comes through standard input is taken byte for byte, its last line end too.
    pub(super) fn spoken(&self) -> Result<Spoken, CommandError> {
        let text = match &self.said {
            Said::Text(text) => text.clone(),
            Said::StandardInput => standard_input()?,
        };
        if text.is_empty() {
            return Err(CommandError::usage(anyhow!("the utterance is empty")).hint("use TEXT, or standard input"));
        }
        Ok(Spoken { speaker: self.speaker, turn: self.turn, time: None, text })
    }
}

pub(super) fn run(settings: Settings, spoken: Spoken, desk: Desk<'_>) -> Result<Completion, CommandError> {
    fill(vec![spoken], settings.filling, desk)
}

fn standard_input() -> Result<String, CommandError> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        return Err(CommandError::usage(anyhow!("no utterance given")).hint("use TEXT, or standard input"));
    }
    let mut bytes = Vec::new();
    while_waiting(|| input.read_to_end(&mut bytes)).context("read standard input")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let lines = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        CommandError::from(anyhow!("standard input is not valid UTF-8 at byte {}, line {}", at + 1, lines + 1))
            .hint("convert it first, for example with iconv -t UTF-8")
    })
}
