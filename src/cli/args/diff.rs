//! What `ctxc diff` is told.

use std::path::PathBuf;

use super::shared::SessionArg;
use crate::cli::commands::diff::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::show::Length;

pub(super) const EXAMPLES: &str = "\
Entries are the same where their uuid is. Only the live ones are compared, and of them what the model sees.

Examples:
  ctxc diff session.jsonl smaller.jsonl
  ctxc diff 3f9a1c2b latest --full
  ctxc diff session.jsonl smaller.jsonl --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first transcript: a path, a session id or the beginning of one, or `latest`
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The second, such as what ctxc made of it
    #[arg(value_name = "B")]
    after: PathBuf,
    /// Show differences of texts to their end
    #[arg(long)]
    full: bool,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            before: SessionArg { session: self.before }.find(&context)?,
            after: SessionArg { session: self.after }.find(&context)?,
            length: if self.full { Length::Full } else { Length::Short },
            reporting: context.reporting,
        })
    }
}
