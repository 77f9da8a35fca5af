//! What `ctxc compact` is told.

use super::engine::EngineArgs;
use super::shared::{RewriteArgs, SessionArg};
use super::summarizing::SummarizingArgs;
use crate::cli::commands::compact::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Trigger};

pub(super) const EXAMPLES: &str = "\
Keeps the newest messages as they are and summarizes everything before them. The summaries form a \
compaction view at the start of the conversation, as the client's own compaction does. Summaries and \
removed messages stay in the archive, where they can be searched and restored.

Does nothing while the context is within its budget, unless --force is given. --force also \
overwrites FILE and replaces a source that just changed.

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
        let window = self.summarizing.window();
        let compacting = self.summarizing.resolve(self.engine, context.environment)?;
        let rewriting = self.rewrite.resolve(&self.session, context)?.in_window(window);
        Ok(Settings { rewriting, compacting, trigger })
    }
}
