//! What `ctxc diff` is told.

use std::path::PathBuf;

use super::shared::SessionArg;
use crate::cli::commands::diff::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::show::Length;

pub(super) const EXAMPLES: &str = "\
Entries are matched by uuid. Only active entries are compared, and only what the model sees of them.

Examples:
  ctxc diff session.jsonl smaller.jsonl
  ctxc diff 3f9a1c2b latest --full
  ctxc diff session.jsonl smaller.jsonl --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// First session: a path, an id or its prefix, or `latest`
    #[arg(value_name = "A")]
    before: PathBuf,
    /// Second session
    #[arg(value_name = "B")]
    after: PathBuf,
    /// Do not shorten long differences
    #[arg(long)]
    full: bool,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            before: SessionArg { session: Some(self.before) }.find(&context)?,
            after: SessionArg { session: Some(self.after) }.find(&context)?,
            length: if self.full { Length::Full } else { Length::Short },
            reporting: context.reporting,
        })
    }
}
