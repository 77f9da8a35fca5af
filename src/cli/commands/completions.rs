//! `ctxc completions`: print what makes a shell complete verbs, options, sessions, handles and operations (U-07, W-11).

use anyhow::anyhow;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::cli::error::{CommandError, Completion};
use crate::cli::ui::Ui;
use std::io::Write;

/// The variable by which the shell says that it asks for a completion.
const VARIABLE: &str = "COMPLETE";

/// For which shell.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) shell: Shell,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let name = settings.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| CommandError::usage(anyhow!("no completions for {name}")))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "ctxc", "ctxc", "ctxc", &mut script)?;
    let mut output = ui.output();
    output.write_all(&script).and_then(|()| output.flush())?;
    Ok(Completion::Full)
}
