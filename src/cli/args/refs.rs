//! What `ctxc refs` is told.

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;

use super::shared::SessionArg;
use crate::cli::commands::refs::{Settings, Sort};
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::refs::State;

pub(super) const EXAMPLES: &str = "\
Handles and patterns name items for `ctxc discard`, `ctxc distill` and `ctxc restore`.

Examples:
  ctxc refs latest
  ctxc refs latest --tool Read --state active --sort tokens
  ctxc refs session.jsonl --messages --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Only items in this state
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<TypedState>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Sort order
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Order::Age)]
    sort: Order,
    /// Also list messages, with a pattern for each
    #[arg(long)]
    messages: bool,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TypedState {
    /// Unchanged
    Active,
    /// Replaced by a placeholder or a summary
    Removed,
    /// The call failed or was rejected
    Failed,
    /// The call has no result
    Unanswered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Oldest first
    Age,
    /// Largest first
    Tokens,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let source = self.session.find(&context)?;
        // The list is of use without an archive too.
        let archive = context.environment.archive_url(self.archive.as_deref()).ok();
        Ok(Settings {
            source,
            state: self.state.map(|state| match state {
                TypedState::Active => State::Live,
                TypedState::Removed => State::Cut,
                TypedState::Failed => State::Failed,
                TypedState::Unanswered => State::Unanswered,
            }),
            tool: self.tool,
            sort: match self.sort {
                Order::Age => Sort::Age,
                Order::Tokens => Sort::Tokens,
            },
            lists_messages: self.messages,
            archive,
            reporting: context.reporting,
        })
    }
}
