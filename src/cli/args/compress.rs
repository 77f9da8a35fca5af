//! What `ctxc compress` is told.

use clap::ValueEnum;

use super::engine::EngineArgs;
use super::shared::{RewriteArgs, SessionArg};
use crate::cli::commands::compress::Settings;
use crate::cli::error::CommandError;
use crate::cli::quantity::tokens;
use crate::cli::settings::{Context, Detail, Strictness};
use crate::report::facts::Lost;
use ctxc_engine::run::MinKept;
use ctxc_transcript::text::Tokens;

pub(super) const EXAMPLES: &str = "\
Shortens each message in the bands with the engine. Tool calls and results stay, unless --include is given.

A band is START-END:LEVEL, in percent of the turns, END excluded. LEVEL is compress (35 % of the \
tokens stay), heavy (10 %) or a percentage such as 20%.

Examples:
  ctxc compress latest --bands 0-30:heavy,50-80:compress --dry-run
  ctxc compress 1b9d6bcd --bands 0-70:compress --only assistant
  ctxc compress session.jsonl --bands 0-50:20% --include tool-results --in-place
  cat session.jsonl | ctxc compress - --bands 0-50:compress > smaller.jsonl";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// List each task with its result and cost
    #[arg(long, help_heading = "Output")]
    explain: bool,
    #[command(flatten)]
    facts: FactsArgs,
    /// Exit with 3 unless every message was compressed
    #[arg(long, help_heading = "Output")]
    strict: bool,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
struct SelectArgs {
    /// Bands of turns to compress, such as 0-30:heavy,50-80:compress
    #[arg(long)]
    bands: String,
    /// Only messages of this role
    #[arg(long, value_enum, value_name = "ROLE")]
    only: Option<Only>,
    /// Also compress these texts
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    include: Vec<Include>,
    /// Skip texts of fewer tokens [default: 20]
    #[arg(long, value_name = "N", value_parser = tokens)]
    min_tokens: Option<u64>,
    /// Protect the newest N turns [default: 0]
    #[arg(long, value_name = "N")]
    protect_turns: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Fact check")]
struct FactsArgs {
    /// Refuse a result that keeps less than this part of the facts, such as 0.8, or
    /// invents one
    #[arg(long, value_name = "PART")]
    min_kept: Option<MinKept>,
    /// List the facts that were lost
    #[arg(long)]
    show_lost: bool,
}

/// Whose messages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Only {
    /// Messages of the user.
    User,
    /// Messages of the model.
    Assistant,
}

impl Only {
    /// The name of the role, as it is typed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Texts that are compressed on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Include {
    /// Tool results.
    ToolResults,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let config = &context.environment.config;
        Ok(Settings {
            min_tokens: Tokens(self.select.min_tokens.unwrap_or(config.min_tokens)),
            protect_turns: self.select.protect_turns.unwrap_or(config.protect_turns),
            engine: self.engine.resolve(context.environment)?,
            rewriting: self.rewrite.resolve(&self.session, context)?,
            bands: self.select.bands,
            only: self.select.only,
            include: self.select.include,
            detail: if self.explain { Detail::EachTask } else { Detail::Sums },
            min_kept: self.facts.min_kept,
            lost: if self.facts.show_lost { Lost::Named } else { Lost::Counted },
            strictness: if self.strict { Strictness::Strict } else { Strictness::Lenient },
        })
    }
}
