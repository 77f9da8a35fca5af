//! What `ctxc keep` is told.

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;

use super::shared::find;
use crate::cli::commands::keep::{Settings, Which};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
A session is stored as it is, with its folder of subagents and tool results: each line once, whatever sessions have it. \
A client may be writing to it: the session is stored up to its last whole line. What has not changed since is not read \
again. `ctxc restore ID --all` writes it back once its file is gone.

Examples:
  ctxc keep latest
  ctxc keep --all
  ctxc list --kept";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A path, a session id or the beginning of one, `latest`, or `-` for standard input
    #[arg(value_name = "SESSION", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "all")]
    session: Option<String>,
    /// Keep the sessions of all projects
    #[arg(long, required_unless_present = "session")]
    all: bool,
    /// Keep them in this archive, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let which = match self.session {
            Some(session) => Which::One(find(session.as_ref(), &context)?),
            None if self.all => Which::All(context.environment.places()?),
            None => return Err(CommandError::usage(anyhow!("keep no session")).hint("name one, or give --all")),
        };
        let archive = context.environment.archive_url(self.archive.as_deref())?;
        let on_server = context.environment.server_consent();
        let keep_max = context.environment.config.keep_max();
        Ok(Settings { which, archive, on_server, keep_max, reporting: context.reporting })
    }
}
