//! What `ctxc prune` is told.

use std::collections::BTreeSet;

use super::shared::{RewriteArgs, SessionArg};
use crate::apply::{Extra, Mask, Pruning, ThinkingReach};
use crate::cli::commands::prune::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::plan::{Protected, Rule};
use crate::text::Tokens;

pub(super) const EXAMPLES: &str = "\
Rules, in the order in which they claim a result:
  hash   the same tool was called with the same parameters again, or a newer read of the file shows
         these lines and more; commands count as the same only with the same output
  file   the file was written or edited since
  todo   the list of tasks was written, or read, again
  url    the same address was fetched again
  error  the call failed, and the same call succeeded later

Examples:
  ctxc prune latest --dry-run
  ctxc prune latest --mask 5
  ctxc prune session.jsonl --rules hash,file,todo,url,error --inputs -o smaller.jsonl
  ctxc prune latest --rules \"\" --ui-copies --progress --dead --in-place
  ctxc prune latest --protect-tool WebFetch --protect-file 'docs/**'";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    protect: ProtectArgs,
    #[command(flatten)]
    extras: ExtraArgs,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to cut")]
struct SelectArgs {
    /// Cut the tool results that are superseded by these rules; with \"\" by none [default: hash,file,todo]
    #[arg(long, value_name = "RULE,...")]
    rules: Option<String>,
    /// Cut the tool results older than the newest STEPS steps too, and leave a digest of each
    #[arg(long, value_name = "STEPS")]
    mask: Option<u32>,
    /// Give a digest at most N tokens, 0 for no digest
    #[arg(long, value_name = "N", default_value_t = 40)]
    digest_tokens: u64,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to leave alone")]
struct ProtectArgs {
    /// Leave the newest N steps alone [default: 4]
    #[arg(long = "protect-steps", value_name = "N")]
    steps: Option<u64>,
    /// Leave the newest N turns alone [default: 0]
    #[arg(long = "protect-turns", value_name = "N")]
    turns: Option<u64>,
    /// Never cut what this tool gave back; can be given several times
    #[arg(long = "protect-tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Never cut reads and edits of the files that this pattern fits; can be given several times
    #[arg(long = "protect-file", value_name = "GLOB")]
    files: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What else goes")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that was typed")]
struct ExtraArgs {
    /// Put a line of text in the place of each image
    #[arg(long)]
    images: bool,
    /// Remove all thinking, except in a tool loop that is still open
    #[arg(long, conflicts_with = "keep_thinking")]
    thinking: bool,
    /// Shorten the long parameters of the calls whose results are cut
    #[arg(long)]
    inputs: bool,
    /// Shorten the client's own copies of tool results; saves bytes and no tokens
    #[arg(long)]
    ui_copies: bool,
    /// Drop the signs of life of tools and subagents; saves bytes and no tokens
    #[arg(long)]
    progress: bool,
    /// Drop the entries that no resume would send; saves bytes and no tokens
    #[arg(long)]
    dead: bool,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let config = &context.environment.config;
        let Self { session, select, protect, extras, rewrite } = self;
        let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let tools = config.protected_tools.iter().cloned().chain(protect.tools);
        let files: Vec<String> = config.protected_files.iter().cloned().chain(protect.files).collect();
        let digest = Tokens(select.digest_tokens);
        let pruning = Pruning {
            rules: rules(select.rules.as_deref())?,
            protect_steps: clamp(protect.steps.unwrap_or(config.protect_steps)),
            protect_turns: clamp(protect.turns.unwrap_or(config.protect_turns)),
            protected: Protected::new(tools, &files).map_err(CommandError::usage)?,
            mask: select.mask.map(|steps| Mask { steps, digest }),
            extras: extras.chosen(),
        };
        let reach = if extras.thinking { ThinkingReach::Everywhere } else { ThinkingReach::BehindChange };
        Ok(Settings { pruning, reach, rewriting: rewrite.resolve(&session, context)? })
    }
}

impl ExtraArgs {
    fn chosen(&self) -> BTreeSet<Extra> {
        let typed = [
            (self.images, Extra::Images),
            (self.inputs, Extra::Inputs),
            (self.ui_copies, Extra::UiCopies),
            (self.progress, Extra::Progress),
            (self.dead, Extra::Dead),
        ];
        typed.into_iter().filter(|(is_typed, _)| *is_typed).map(|(_, extra)| extra).collect()
    }
}

/// The rules in a list of names; those that are usual where none is given.
fn rules(typed: Option<&str>) -> Result<Vec<Rule>, CommandError> {
    match typed {
        None => Ok(Rule::DEFAULT.to_vec()),
        Some(typed) if typed.trim().is_empty() => Ok(Vec::new()),
        Some(typed) => {
            let mut rules: Vec<Rule> =
                typed.split(',').map(str::parse).collect::<Result<_, _>>().map_err(CommandError::usage)?;
            rules.sort_unstable();
            rules.dedup();
            Ok(rules)
        }
    }
}
