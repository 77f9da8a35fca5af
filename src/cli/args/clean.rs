//! What `ctxc clean` is told.

use jiff::SignedDuration;

use super::removal::RemovalArgs;
use crate::cli::commands::clean::Settings;
use crate::cli::error::CommandError;
use crate::cli::quantity::age;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
Removes sessions that ctxc wrote, and backups of those it replaced, if the archive has their full content. Keeps \
sessions that were continued, sources of other sessions, and the only file of a conversation.

Examples:
  ctxc clean --dry-run
  ctxc clean --older-than 7d
  ctxc clean --older-than 90d --yes";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only files older than AGE: 12h, 30d, 8w, 1y
    #[arg(long, value_name = "AGE", value_parser = age, default_value = "30d")]
    older_than: SignedDuration,
    #[command(flatten)]
    removal: RemovalArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            age: self.older_than,
            archive: context.environment.archive_url(self.removal.archive.as_deref())?,
            mode: self.removal.mode(),
            is_confirmed: self.removal.yes,
            reporting: context.reporting,
        })
    }
}
