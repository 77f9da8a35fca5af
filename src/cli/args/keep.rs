//! What `ctxc keep` is told.

use clap::builder::NonEmptyStringValueParser;

use super::shared::SessionArg;
use crate::cli::commands::keep::{Settings, Which};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Stores whole sessions with their subagents and tool results, each line once. Works while the client is running: the \
session is stored up to its last complete line. Unchanged sessions are skipped. `ctxc restore ID --all` writes a session \
back when its file is gone; clients delete them after 30 days.

Examples:
  ctxc keep latest
  ctxc keep --all
  ctxc list --kept";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Store the sessions of all projects
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let which =
            if self.all { Which::All(context.environment.places()?) } else { Which::One(self.session.find(&context)?) };
        let archive = context.environment.archive_url(self.archive.as_deref())?;
        let on_server = context.environment.server_consent();
        let keep_max = context.environment.config.keep_max();
        Ok(Settings { which, archive, on_server, keep_max, reporting: context.reporting })
    }
}
