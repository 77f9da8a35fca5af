//! What `ctxc forget` is told.

use clap::builder::NonEmptyStringValueParser;

use super::removal::RemovalArgs;
use crate::cli::commands::forget::{Settings, What};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Replaces a text with a mask of the same length in everything that ctxc stores: the archive with its index, \
results, and backups. The text stays masked if a file with it is stored again, and restored sessions show the \
mask. It is also found escaped, percent-encoded, in base64 and in hexadecimal.

Lists files of the client that still contain the text, and leaves them unchanged. It cannot reach copies made \
elsewhere, nor the log, the replicas and the backups of a PostgreSQL server. Revoke the secret as well.

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
    #[command(flatten)]
    removal: RemovalArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            what: self.op.map_or(What::Secret, What::Operation),
            archive: context.environment.archive_url(self.removal.archive.as_deref())?,
            places: context.environment.places().ok(),
            mode: self.removal.mode(),
            is_confirmed: self.removal.yes,
            reporting: context.reporting,
        })
    }
}
