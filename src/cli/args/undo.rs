//! What `ctxc undo` is told.

use anyhow::anyhow;

use super::shared::{RewriteArgs, SessionArg};
use crate::cli::commands::restore_whole::{Later, Which};
use crate::cli::commands::undo::Settings;
use crate::cli::completing;
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Keep};

pub(super) const EXAMPLES: &str = "\
Run it again to undo the operation before; to redo, undo the undo with --op. Messages appended since are kept. \
Writes a new session, or names the original if that is unchanged; --in-place replaces SESSION and keeps a \
backup.

Examples:
  ctxc undo latest
  ctxc undo smaller.jsonl --in-place
  ctxc undo latest --op 01m2k4v7q";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Operation to undo, as listed by `ctxc log` [default: the newest]
    #[arg(long, value_name = "ID", add = completing::operations())]
    op: Option<String>,
    /// Also undo the operations that depend on it
    #[arg(long)]
    with_later: bool,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let rewriting = self.rewrite.resolve(&self.session, context)?;
        let Keep::In(archive) = rewriting.keep.clone() else {
            return Err(CommandError::usage(anyhow!("--no-archive cannot be used with undo"))
                .hint("removed content is in the archive"));
        };
        let which = self.op.map_or(Which::Newest, Which::One);
        let later = if self.with_later { Later::Undo } else { Later::Refuse };
        Ok(Settings { rewriting, archive, which, later })
    }
}
