//! What `ctxc man` is told.

use std::path::PathBuf;

use crate::cli::commands::man::Settings;

pub(super) const EXAMPLES: &str = "\
Examples:
  ctxc man | man -l -
  ctxc man ~/.local/share/man/man1";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write one page per command into DIR [default: one page, to standard output]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Args {
    pub(crate) fn resolve(self) -> Settings {
        Settings { folder: self.folder }
    }
}
