//! What `ctxc check` is told.

use std::path::PathBuf;

use anyhow::anyhow;

use super::shared::find;
use crate::cli::commands::check::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::transcript::session::Found;

pub(super) const EXAMPLES: &str = "\
Exits with 1 when there are errors, with 0 when there are warnings alone.

Examples:
  ctxc check session.jsonl
  ctxc check smaller.jsonl --against session.jsonl";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path, a session id or the beginning of one, `latest`, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Compare with the transcript that FILE was made from
    #[arg(long, value_name = "ORIGINAL")]
    against: Option<PathBuf>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let file = find(&self.file, &context)?;
        let against = self.against.map(|original| find(&original, &context)).transpose()?;
        if file == Found::StandardInput && against == Some(Found::StandardInput) {
            return Err(CommandError::usage(anyhow!("read two transcripts from standard input")));
        }
        Ok(Settings { file, against, reporting: context.reporting })
    }
}
