//! What `ctxc log` is told.

use clap::builder::NonEmptyStringValueParser;

use super::shared::SessionArg;
use crate::cli::commands::log::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Lists the operations that led to the session, newest first, with the ids for `ctxc undo --op`.

Examples:
  ctxc log latest
  ctxc log smaller.jsonl --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let source = self.session.find(&context)?;
        let archive = context.environment.archive_url(self.archive.as_deref())?;
        Ok(Settings { source, archive, reporting: context.reporting })
    }
}
