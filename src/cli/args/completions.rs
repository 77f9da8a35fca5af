//! What `ctxc completions` is told.

use clap_complete::Shell;

use crate::cli::commands::completions::Settings;

pub(super) const EXAMPLES: &str = "\
The shell runs ctxc to complete verbs, options, sessions with their titles, handles and operations. After an update, \
generate the script again.

Examples:
  ctxc completions bash > ~/.local/share/bash-completion/completions/ctxc
  ctxc completions zsh > ~/.zfunc/_ctxc
  ctxc completions fish > ~/.config/fish/completions/ctxc.fish";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Args {
    pub(crate) fn resolve(self) -> Settings {
        Settings { shell: self.shell }
    }
}
