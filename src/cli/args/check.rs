//! What `ctxc check` is told.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;

use super::shared::{SessionArg, find};
use crate::cli::commands::check::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use ctxc_transcript::session::Found;

pub(super) const EXAMPLES: &str = "\
Checks the links between entries, tool calls with their results, and thinking. With --against, also compares \
thinking and active entries with the original, and marks problems that the original has too.

Exits with 1 on errors, and with 0 when there are only warnings.

Examples:
  ctxc check session.jsonl
  ctxc check smaller.jsonl --against session.jsonl";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Compare with the session that SESSION was made from
    #[arg(long, value_name = "ORIGINAL")]
    against: Option<PathBuf>,
    /// Find the original in this archive if --against is not given [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", conflicts_with = "against", value_parser = NonEmptyStringValueParser::new())]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let file = self.session.find(&context)?;
        let against = self.against.map(|original| find(&original, &context)).transpose()?;
        if file == Found::StandardInput && against == Some(Found::StandardInput) {
            return Err(CommandError::usage(anyhow!("only one transcript can be standard input")));
        }
        // It is of use without an archive too.
        let archive = context.environment.archive_url(self.archive.as_deref()).ok();
        Ok(Settings { file, against, archive, reporting: context.reporting })
    }
}
