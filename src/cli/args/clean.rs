//! What `ctxc clean` is told.

use clap::builder::NonEmptyStringValueParser;
use jiff::SignedDuration;

use crate::cli::commands::clean::Settings;
use crate::cli::error::CommandError;
use crate::cli::quantity::age;
use crate::cli::settings::{Context, Mode};

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
    /// Show what would be removed
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
            age: self.older_than,
            archive: context.environment.archive_url(self.archive.as_deref())?,
            mode: if self.dry_run { Mode::Show } else { Mode::Do },
            is_confirmed: self.yes,
            reporting: context.reporting,
        })
    }
}
