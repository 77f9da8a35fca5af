//! What `ctxc list` is told.

use clap::builder::NonEmptyStringValueParser;

use crate::cli::commands::list::{Settings, Which};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::list::Projects;

pub(super) const EXAMPLES: &str = "\
Sizes are estimates of the context usage, scaled to the counts that the client recorded.

Examples:
  ctxc list
  ctxc list --all --limit 50
  ctxc list --kept
  ctxc list --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sessions of all projects
    #[arg(long)]
    all: bool,
    /// Archived sessions, even if their file is gone
    #[arg(long, conflicts_with = "all")]
    kept: bool,
    /// Maximum number of sessions
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            places: context.environment.places()?,
            which: if self.kept { Which::Kept } else { Which::Files },
            projects: if self.all { Projects::All } else { Projects::Current },
            limit: self.limit,
            // The list is of use without an archive too.
            archive: context.environment.archive_url(self.archive.as_deref()).ok(),
            reporting: context.reporting,
        })
    }
}
