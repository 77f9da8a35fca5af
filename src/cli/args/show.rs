//! What `ctxc show` is told.

use std::num::NonZeroU32;

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;

use super::shared::SessionArg;
use crate::cli::commands::show::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::Context;
use crate::report::show::Length;
use ctxc_core::apply::Speaker;
use ctxc_transcript::LineNo;

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
    /// Show only the newest N messages [default: 20; all with --turn or --search]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Only this speaker
    #[arg(long, value_enum, value_name = "WHO")]
    speaker: Option<TypedSpeaker>,
    /// Only messages that contain TEXT, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    search: Option<String>,
    /// Only turn N, from 0 as in ctxc stats
    #[arg(long, value_name = "N")]
    turn: Option<usize>,
    /// Only the entry on line N of the file, from 1, active or not
    #[arg(long, value_name = "N", conflicts_with_all = ["last", "speaker", "search", "turn"])]
    line: Option<NonZeroU32>,
    /// Do not shorten long tool results, calls and thinking
    #[arg(long)]
    full: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TypedSpeaker {
    /// The person
    User,
    /// The model, with its tool calls and thinking
    Assistant,
    /// Tool results
    Tool,
    /// Notices, added context and summaries of the client
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
            line: self.line.map(|line| LineNo(line.get() - 1)),
            length: if self.full { Length::Full } else { Length::Short },
            reporting: context.reporting,
        })
    }
}
