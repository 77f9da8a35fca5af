//! What `ctxc fit` is told.

use std::num::NonZeroU64;

use super::prune::ProtectArgs;
use super::share::share;
use super::shared::{RewriteArgs, SessionArg};
use crate::cli::commands::fit::{Effort, Settings};
use crate::cli::error::CommandError;
use crate::cli::quantity::some_tokens;
use crate::cli::settings::{Context, Target};
use ctxc_transcript::text::Tokens;

pub(super) const EXAMPLES: &str = "\
Removes superseded tool results first, then masks old ones, the oldest and largest first, and stops at the \
target. If that is not enough, compacts the oldest messages into a summary. Prompts, the last answer and \
protected items are kept. Never calls a model.

Examples:
  ctxc fit
  ctxc fit --to 60k --dry-run
  ctxc fit latest --to 30% --in-place
  ctxc fit session.jsonl --to 20k --truncate -o smaller.jsonl";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    protect: ProtectArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Target")]
struct TargetArgs {
    /// Target: percent of the context window, or tokens
    #[arg(long, value_name = "TARGET", value_parser = target, default_value = "50%")]
    to: Target,
    /// Context window in tokens [default: inferred, 200000 or 1000000]
    #[arg(long, value_name = "N", value_parser = some_tokens)]
    context_window: Option<NonZeroU64>,
    /// Also remove the oldest messages if nothing else reaches the target
    #[arg(long, conflicts_with = "best_effort")]
    truncate: bool,
    /// Go as low as possible if the target cannot be reached
    #[arg(long)]
    best_effort: bool,
}

/// Reads `50%`, `60k` or `60000`.
///
/// # Errors
/// What it must be, as a clause.
pub(crate) fn target(text: &str) -> Result<Target, String> {
    if text.ends_with('%') {
        return share(text).map(Target::Share).map_err(|_| "must be above 0% and at most 100%".to_owned());
    }
    some_tokens(text).map(|tokens| Target::Tokens(Tokens(tokens.get())))
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let TargetArgs { to, context_window, truncate, best_effort } = self.target;
        let config = &context.environment.config;
        Ok(Settings {
            target: to,
            effort: match (truncate, best_effort) {
                (true, _) => Effort::Truncate,
                (false, true) => Effort::Best,
                (false, false) => Effort::Exact,
            },
            protections: self.protect.stage(config),
            clip: (config.summarization.clip_first, config.summarization.clip_last),
            rewriting: self
                .rewrite
                .resolve(&self.session, context)?
                .in_window(context_window.map(|window| Tokens(window.get()))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Share;

    // W-02, W-05
    #[test]
    fn w_02_targets_are_read_as_people_type_them() {
        let tokens = |n| Ok(Target::Tokens(Tokens(n)));
        assert_eq!(target("60k"), tokens(60_000));
        assert_eq!(target("1234"), tokens(1_234));
        assert_eq!(target("50%"), Ok(Target::Share(Share(0.5))));
        for wrong in ["", "0", "0%", "101%", "x%", "-5", "0.5"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
