//! This program as a process that the client runs.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::session::error::CommandError;
use crate::terminal::interrupt::while_waiting;

/// The path of the program.
pub(super) fn program_path() -> Result<PathBuf, CommandError> {
    Ok(std::env::current_exe().context("find the program")?)
}

/// The input from the plugin.
pub(super) fn read_input() -> Result<String, CommandError> {
    Ok(while_waiting(|| std::io::read_to_string(std::io::stdin())).context("read standard input")?)
}
