//! What `ctxc diff` is told.

use std::path::PathBuf;

use super::shared::SessionArg;
use crate::cli::commands::diff::{Settings, Sides};
use crate::cli::completing;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::show::Length;

pub(super) const EXAMPLES: &str = "\
With one session, compares it with the original: the session before any edit by ctxc, with the messages appended \
since. Entries are matched by uuid. Only active entries are compared, and only what the model sees of them.

Examples:
  ctxc diff
  ctxc diff session.jsonl smaller.jsonl
  ctxc diff 3f9a1c2b latest --full
  ctxc diff session.jsonl smaller.jsonl --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path, session id or its prefix, or `latest` [default: the newest session of this project]
    #[arg(value_name = "SESSION", add = completing::sessions())]
    first: Option<PathBuf>,
    /// Session to compare SESSION with [default: the source of SESSION]
    #[arg(value_name = "OTHER", add = completing::sessions())]
    second: Option<PathBuf>,
    /// Do not shorten long differences
    #[arg(long)]
    full: bool,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let first = SessionArg { session: self.first }.find(&context)?;
        let sides = match self.second {
            Some(second) => Sides::Two(first, SessionArg { session: Some(second) }.find(&context)?),
            None => Sides::Source { session: first, archive: context.environment.archive_url(None)? },
        };
        Ok(Settings {
            sides,
            length: if self.full { Length::Full } else { Length::Short },
            reporting: context.reporting,
        })
    }
}
