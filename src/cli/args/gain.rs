//! What `ctxc gain` is told.

use clap::builder::NonEmptyStringValueParser;
use jiff::SignedDuration;

use crate::cli::commands::gain::Settings;
use crate::cli::error::CommandError;
use crate::cli::quantity::age;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Saved: by how much each operation shrank the context, counted once; undone operations count as zero. Re-cached: tokens \
that the API had to cache again as a result. Both are estimates.

Examples:
  ctxc gain
  ctxc gain --since 4w --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the last AGE: 12h, 30d, 8w
    #[arg(long, value_name = "AGE", value_parser = age)]
    since: Option<SignedDuration>,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let archive = context.environment.archive_url(self.archive.as_deref())?;
        Ok(Settings { archive, since: self.since, reporting: context.reporting })
    }
}
