//! What `ctxc distill` is told.

use super::shared::{RewriteArgs, SessionArg};
use super::targets::{Summaries, TargetArgs};
use crate::cli::commands::cutting::{Action, Inputs, Settings};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
A TARGET is the handle of a tool call, or the start and the end of a message. The summary follows the first = after the \
handle, or after the ellipsis of the pattern; if the pattern itself contains a =, use --targets.

Examples:
  ctxc distill latest \"g_07c2e=Found 73 TypeScript files\"
  ctxc distill latest \"Architecture overview...API=Three layers: state, UI, API\"
  ctxc distill session.jsonl --targets summaries.json --in-place";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Handle or pattern, and the summary that replaces it
    #[arg(value_name = "TARGET=SUMMARY", required_unless_present = "targets")]
    target: Vec<String>,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let rewriting = self.rewrite.resolve(&self.session, context)?;
        Ok(Settings {
            action: Action::Distill,
            aims: self.targets.aims(&self.target, &rewriting.source, Summaries::Required)?,
            roles: self.targets.roles(),
            matches: self.targets.matches(),
            inputs: Inputs::Leave,
            rewriting,
        })
    }
}
