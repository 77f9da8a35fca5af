//! What `ctxc compact` is told.

use super::engine::EngineArgs;
use super::shared::{RewriteArgs, SessionArg};
use super::summarizing::SummarizingArgs;
use crate::cli::commands::compact::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Trigger};

pub(super) const EXAMPLES: &str = "\
The newest messages stay as they are. All before them is summarised, some messages at a time, and the \
summaries stand at the head of the conversation as if the client had compacted it. Every summary and \
every message that went is in the archive, to be searched and to be restored.

Nothing is done while the context is within its budget. With --force it is compacted all the same; \
an existing FILE is overwritten then, too, and a source replaced that has just changed.

Examples:
  ctxc compact latest
  ctxc compact latest --force --keep-recent 10 --dry-run
  ctxc compact session.jsonl --context-window 1000000 --context-budget 0.5 -o smaller.jsonl
  ctxc archive search \"retry limit\" --kind batch";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    summarizing: SummarizingArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let trigger = if self.rewrite.is_forced() { Trigger::Always } else { Trigger::OverBudget };
        let summaries = self.summarizing.resolve(self.engine, context.environment)?;
        Ok(Settings { summaries, trigger, rewriting: self.rewrite.resolve(&self.session, context)? })
    }
}
