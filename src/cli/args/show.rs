//! What `ctxc show` is told.

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;

use super::shared::SessionArg;
use crate::apply::Speaker;
use crate::cli::commands::show::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::show::Length;

pub(super) const EXAMPLES: &str = "\
Examples:
  ctxc show latest
  ctxc show latest --speaker user --last 5
  ctxc show latest --search \"connection refused\" --full
  ctxc show session.jsonl --turn 3 --json";

/// How many messages are shown where nothing says which.
const LAST: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Show the newest N messages of those that fit [default: 20, with --turn or --search all]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Show what this speaker says alone
    #[arg(long, value_enum, value_name = "WHO")]
    speaker: Option<TypedSpeaker>,
    /// Show what has these words alone, in any case
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    search: Option<String>,
    /// Show turn N alone, counted from 0 as ctxc stats counts them
    #[arg(long, value_name = "N")]
    turn: Option<usize>,
    /// Show long tool results, calls and thinking to their end
    #[arg(long)]
    full: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TypedSpeaker {
    /// The person
    User,
    /// The model, with its calls and its thinking
    Assistant,
    /// The results of tools
    Tool,
    /// The client: its remarks, context that it adds, summaries
    System,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let source = self.session.find(&context)?;
        let default = if self.turn.is_none() && self.search.is_none() { Some(LAST) } else { None };
        Ok(Settings {
            source,
            last: self.last.or(default),
            speaker: self.speaker.map(|speaker| match speaker {
                TypedSpeaker::User => Speaker::User,
                TypedSpeaker::Assistant => Speaker::Assistant,
                TypedSpeaker::Tool => Speaker::Tool,
                TypedSpeaker::System => Speaker::System,
            }),
            search: self.search,
            turn: self.turn,
            length: if self.full { Length::Full } else { Length::Short },
            reporting: context.reporting,
        })
    }
}
