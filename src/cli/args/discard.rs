//! What `ctxc discard` is told.

use super::shared::RewriteArgs;
use super::targets::{NamedArgs, Summaries, TargetArgs};
use crate::cli::commands::cutting::{Action, Inputs, Settings, Unmatched};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;

pub(super) const EXAMPLES: &str = "\
A TARGET is the handle of a tool call, such as r_3f9a1, or the start and the end of a message, such as \
\"Let me explain...edge cases\". Case, white space and trailing punctuation are ignored. Removed content stays in the \
archive; to erase it, use `ctxc forget`.

Examples:
  ctxc refs latest
  ctxc discard latest r_3f9a1 b_07c2e \"Let me explain...edge cases\"
  ctxc discard session.jsonl --targets targets.json -o smaller.jsonl
  ctxc restore smaller.jsonl r_3f9a1 -o session.jsonl";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: NamedArgs,
    #[command(flatten)]
    targets: TargetArgs,
    /// Also shorten long parameters of the calls; a model may imitate them
    #[arg(long)]
    inputs: bool,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let (session, targets) = self.named.parted();
        let rewriting = self.rewrite.resolve(&session, context)?;
        Ok(Settings {
            action: Action::Discard,
            aims: self.targets.aims(&targets, &rewriting.source, Summaries::None)?,
            roles: self.targets.roles(),
            matches: self.targets.matches(),
            unmatched: Unmatched::Refuse,
            inputs: if self.inputs { Inputs::Shorten } else { Inputs::Leave },
            rewriting,
        })
    }
}
