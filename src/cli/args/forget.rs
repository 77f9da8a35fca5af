//! What `ctxc forget` is told.

use clap::builder::NonEmptyStringValueParser;

use crate::cli::commands::forget::{Settings, What};
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Mode};

pub(super) const EXAMPLES: &str = "\
Replaces a text by a mask of the same length in all that ctxc stores: the archive with its index, results, and backups. \
It stays masked if a file with the text is stored again, and restored sessions show the mask. The text is also found escaped, percent-encoded, in base64 and in hexadecimal.

Files of the client that still hold the text are listed and left unchanged. Whatever was copied elsewhere is out of reach, \
and so are the log, the replicas and the backups of a PostgreSQL server. Revoke the secret too.

Examples:
  ctxc forget --secret < secret.txt
  pass show api-key | ctxc forget --secret --yes
  ctxc forget --op 01m2k4v7q --dry-run";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Purge the text on standard input
    #[arg(long, required_unless_present = "op", conflicts_with = "op")]
    secret: bool,
    /// Purge what this operation removed, as listed by `ctxc log`
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    op: Option<String>,
    /// Show what would be purged
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            what: self.op.map_or(What::Secret, What::Operation),
            archive: context.environment.archive_url(self.archive.as_deref())?,
            places: context.environment.places().ok(),
            mode: if self.dry_run { Mode::Show } else { Mode::Do },
            is_confirmed: self.yes,
            reporting: context.reporting,
        })
    }
}
