//! The arguments of verbs that remove something for good.

use super::archive::ArchiveArg;
use crate::session::options::RunMode;

#[derive(Debug, clap::Args)]
pub(crate) struct RemovalArgs {
    /// Show what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) archive: ArchiveArg,
}

impl RemovalArgs {
    pub(crate) fn run_mode(&self) -> RunMode {
        if self.dry_run { RunMode::Show } else { RunMode::Do }
    }
}
