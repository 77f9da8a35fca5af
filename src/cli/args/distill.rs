//! What `ctxc distill` is told.

use super::shared::RewriteArgs;
use super::targets::{NamedArgs, Summaries, TargetArgs};
use crate::cli::commands::cutting::{Action, Inputs, Settings, Unmatched};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
A TARGET is a tool call handle (see `ctxc refs`), or the start and the end of a message joined by ..., followed by = and \
your summary. If the start or the end contains a =, use --targets.

Examples:
  ctxc distill latest \"g_07c2e=Found 73 TypeScript files\"
  ctxc distill latest \"Architecture overview...API=Three layers: state, UI, API\"
  ctxc distill session.jsonl --targets summaries.json --in-place";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: NamedArgs,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let (session, targets) = self.named.parted();
        let rewriting = self.rewrite.resolve(&session, context)?;
        Ok(Settings {
            action: Action::Distill,
            aims: self.targets.aims(&targets, &rewriting.source, Summaries::Required)?,
            roles: self.targets.roles(),
            matches: self.targets.matches(),
            inputs: Inputs::Leave,
            unmatched: Unmatched::Refuse,
            rewriting,
        })
    }
}
