//! `ctxc completions`: print what makes a shell complete verbs and options (U-07).

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::args::Args;
use crate::cli::error::{CommandError, Completion};
use crate::cli::ui::Ui;

/// For which shell.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) shell: Shell,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(settings.shell, &mut Args::command(), "ctxc", &mut script);
    let mut output = ui.output();
    output.write_all(&script).and_then(|()| output.flush())?;
    Ok(Completion::Full)
}
