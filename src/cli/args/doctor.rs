//! What `ctxc doctor` is told.

use clap::builder::NonEmptyStringValueParser;

use crate::cli::commands::doctor::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Checks the client, the archive, the configuration and the sessions of this project, and changes nothing. Exits with 1 \
if there are problems, and prints a fix for each.

Examples:
  ctxc doctor
  ctxc doctor --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    /// `broken` is why the configuration could not be read, where it could not.
    pub(crate) fn resolve(self, context: Context<'_>, broken: Option<CommandError>) -> Settings {
        let environment = context.environment;
        Settings {
            places: environment.places().ok(),
            archive: environment.archive_url(self.archive.as_deref()).ok(),
            keep_max: environment.config.keep_max(),
            missing_variable: environment.missing_variable().map(str::to_owned),
            broken,
            reporting: context.reporting,
        }
    }
}
