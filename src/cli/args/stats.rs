//! What `ctxc stats` is told.

use clap::builder::NonEmptyStringValueParser;

use super::shared::SessionArg;
use crate::cli::commands::stats::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Shows tokens by role, kind of content, tool and turn.

Examples:
  ctxc stats latest
  ctxc stats session.jsonl --bands 0-30:heavy,50-80:compress
  ctxc stats latest --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Also show the usage of these bands of turns, such as 0-30:heavy,50-80:compress
    #[arg(long)]
    bands: Option<String>,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let source = self.session.find(&context)?;
        // Statistics go on without an archive, also where there is no home folder for one.
        let archive = context.environment.archive_url(self.archive.as_deref()).ok();
        let window = context.environment.config.window();
        Ok(Settings { source, bands: self.bands, archive, window, reporting: context.reporting })
    }
}
