//! What `ctxc restore` is told.

use anyhow::anyhow;

use super::shared::{Gone, RewriteArgs};
use super::targets::{NamedArgs, Summaries, TargetArgs};
use crate::cli::commands::cutting::Unmatched;
use crate::cli::commands::restore::{Asked, Settings, What};
use crate::cli::commands::restore_kept;
use crate::cli::commands::restore_whole::Later;
use crate::cli::completing;
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Keep};

pub(super) const EXAMPLES: &str = "\
A TARGET is a tool call handle, or the start and the end of the original message joined by `...`. Restoring \
single items does not restore removed thinking. Messages appended since are kept.

--all writes the original back to its recorded path, byte for byte, unless it is still there. It also restores a kept \
session whose file is gone, into the current project if its folder is gone too.

Examples:
  ctxc restore latest r_3f9a1 \"Let me explain...edge cases\"
  ctxc restore smaller.jsonl r_3f9a1 --in-place
  ctxc restore latest --all
  ctxc restore smaller.jsonl --all -o session.jsonl
  ctxc restore latest --op 01m2k4v7q";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: NamedArgs,
    /// Restore everything
    #[arg(long, conflicts_with_all = ["targets", "op"])]
    all: bool,
    /// Operation to undo, as listed by `ctxc log`
    #[arg(long, value_name = "ID", add = completing::operations(), conflicts_with = "targets")]
    op: Option<String>,
    /// Also undo the operations that depend on it
    #[arg(long, requires = "op")]
    with_later: bool,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Asked, CommandError> {
        let (session, targets) = self.named.parted();
        if let Some(target) = targets.first().filter(|_| self.all || self.op.is_some()) {
            let other = if self.all { "--all" } else { "--op" };
            return Err(CommandError::usage(anyhow!("the target `{target}` cannot be used with {other}")));
        }
        if self.all
            && let Some(name) = &session.session
            && let Some(gone) = self.rewrite.gone(&name.to_string_lossy(), &context)?
        {
            let Gone { kept, archive, output, existing, mode } = gone;
            let (places, reporting) = (context.environment.places()?, context.reporting);
            return Ok(Asked::Kept(restore_kept::Settings {
                kept,
                archive,
                output,
                existing,
                mode,
                places,
                reporting,
            }));
        }
        let rewriting = self.rewrite.resolve(&session, context)?;
        let Keep::In(archive) = rewriting.keep.clone() else {
            return Err(CommandError::usage(anyhow!("--no-archive cannot be used with restore"))
                .hint("removed content is in the archive"));
        };
        let what = match (self.all, self.op) {
            (true, _) => What::All,
            (false, Some(id)) => What::Operation(id),
            (false, None) => What::Items(self.targets.aims(&targets, &rewriting.source, Summaries::Ignored)?),
        };
        let later = if self.with_later { Later::Undo } else { Later::Refuse };
        Ok(Asked::Session(Settings {
            what,
            later,
            roles: self.targets.roles(),
            matches: self.targets.matches(),
            unmatched: Unmatched::Refuse,
            archive,
            rewriting,
        }))
    }
}
