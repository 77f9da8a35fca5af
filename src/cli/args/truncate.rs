//! What `ctxc truncate` is told.

use std::num::NonZeroU64;

use super::share::{Share, share};
use super::shared::{RewriteArgs, SessionArg};
use crate::cli::commands::truncate::{Effort, Settings};
use crate::cli::config::Config;
use crate::cli::error::CommandError;
use crate::cli::quantity::some_tokens;
use crate::cli::settings::{Context, Target};
use ctxc_transcript::text::Tokens;

pub(super) const EXAMPLES: &str = "\
Without --target-tokens, the target is the context window times the threshold: 170000 by default. The result \
starts with a prompt. If a single turn is too long, its prompt is kept and its oldest steps are removed. Never \
calls a model.

Examples:
  ctxc truncate latest
  ctxc truncate latest --target-tokens 50000 --dry-run
  ctxc truncate session.jsonl --context-window 1000000 --threshold 0.5 -o smaller.jsonl";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Target")]
struct TargetArgs {
    /// Target in tokens
    #[arg(long, value_name = "N", value_parser = some_tokens, conflicts_with_all = ["context_window", "threshold"])]
    target_tokens: Option<NonZeroU64>,
    /// Context window in tokens [default: inferred, 200000 or 1000000]
    #[arg(long, value_name = "N", value_parser = some_tokens)]
    context_window: Option<NonZeroU64>,
    /// Part of the context window to fill [default: 0.85]
    #[arg(long, value_name = "PART", value_parser = share)]
    threshold: Option<Share>,
    /// Scale the target by PART [default: 1.0]
    #[arg(long, value_name = "PART", value_parser = share)]
    headroom: Option<Share>,
    /// Go as low as possible if the target cannot be reached
    #[arg(long)]
    best_effort: bool,
}

impl TargetArgs {
    fn resolve(&self, config: &Config) -> Target {
        let headroom = self.headroom.unwrap_or(Share(config.headroom));
        let threshold = self.threshold.unwrap_or(Share(config.threshold));
        self.target_tokens.map_or(Target::Share(threshold.times(headroom)), |target| {
            Target::Tokens(Tokens(headroom.of(target.get())))
        })
    }
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let target = self.target.resolve(&context.environment.config);
        let window = self.target.context_window.map(|window| Tokens(window.get()));
        let effort = if self.target.best_effort { Effort::Best } else { Effort::Exact };
        Ok(Settings { target, effort, rewriting: self.rewrite.resolve(&self.session, context)?.in_window(window) })
    }
}
