//! `ctxc compress`: shorten the messages of whole bands of turns.

use crate::cli::args::{EngineName, Estimate, Include, Only};
use crate::cli::error::{CommandError, Completion};
use crate::cli::input;
use crate::cli::settings::{Keep, Mode, Output, Reporting, Strictness, Thinking};
use crate::cli::ui::Ui;
use crate::text::Tokens;
use crate::transcript::session::Found;

/// What to compress, how, and where the result goes.
#[derive(Debug)]
#[expect(dead_code, reason = "the body is not built yet")]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The bands as they were typed; nothing is compressed without one.
    pub(crate) bands: String,
    pub(crate) only: Option<Only>,
    pub(crate) include: Vec<Include>,
    pub(crate) min_tokens: Tokens,
    pub(crate) protect_turns: u64,
    pub(crate) engine: EngineName,
    /// The estimate that was asked for; without one it follows the purpose.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) thinking: Thinking,
    pub(crate) output: Output,
    pub(crate) keep: Keep,
    pub(crate) mode: Mode,
    pub(crate) strictness: Strictness,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, _ui: &Ui) -> Result<Completion, CommandError> {
    input::open(&settings.source)?;
    Err(anyhow::anyhow!("compress: not built yet").into())
}
