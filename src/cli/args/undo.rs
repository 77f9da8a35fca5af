//! What `ctxc undo` is told.

use anyhow::anyhow;

use super::shared::{RewriteArgs, SessionArg};
use crate::cli::commands::restore_whole::{Later, Which};
use crate::cli::commands::undo::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Keep};

pub(super) const EXAMPLES: &str = "\
Undoing again undoes the operation before. What a client has added to SESSION since stays. Nothing is deleted: of a new \
session a further one is made, or the unchanged source is named; --in-place replaces SESSION itself, with a backup.

Examples:
  ctxc undo latest
  ctxc undo smaller.jsonl --in-place
  ctxc undo latest --op 01m2k4v7q";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Operation to undo, as `ctxc log` lists it [default: the newest]; undoing an undo does the operation again
    #[arg(long, value_name = "ID")]
    op: Option<String>,
    /// Undo also the operations that stand on it
    #[arg(long)]
    with_later: bool,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let rewriting = self.rewrite.resolve(&self.session, context)?;
        let Keep::In(archive) = rewriting.keep.clone() else {
            return Err(CommandError::usage(anyhow!("undo without an archive"))
                .hint("leave --no-archive out: what was removed is in the archive"));
        };
        let which = self.op.map_or(Which::Newest, Which::One);
        let later = if self.with_later { Later::Undo } else { Later::Refuse };
        Ok(Settings { rewriting, archive, which, later })
    }
}
