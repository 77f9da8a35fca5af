//! What the verbs of `ctxc buffer` are told.

use clap::Subcommand;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};

use super::{delete, load, push, read};
use crate::buffer::{Name, Speaker};
use crate::cli::context::Context;
use crate::session::error::CommandError;

pub(crate) const EXAMPLES: &str = "\
For scripts and agents that hold a conversation of their own. A buffer keeps the newest utterances verbatim, and \
a summary of the evicted ones. Buffers are stored in an archive, which several processes can use at once. \
Evicted utterances stay there: `ctxc archive search` finds them.

Examples:
  ctxc buffer push \"Use port 8443\" --speaker user
  ctxc buffer last 5
  ctxc buffer load latest --buffer shop --size 50
  ctxc buffer search port --speaker user
  ctxc buffer summary --json";

const PUSH_EXAMPLES: &str = "\
Prints the sequence number of the utterance, which never changes. Evicted utterances are summarized at once; if that \
fails, the next push tries again.

Examples:
  ctxc buffer push \"Use port 8443\" --speaker user
  git diff | ctxc buffer push --speaker system --max-tokens 4000
  ctxc buffer push --buffer shop --size 50 - < answer.txt";

const LOAD_EXAMPLES: &str = "\
Adds the messages of the person, the model and the client in order, with their times; tool calls, results and thinking are \
left out. Turns count from 1; what precedes the first turn is turn 0. Prints the first and the last sequence number.

Examples:
  ctxc buffer load latest
  ctxc buffer load 4b2030ed --buffer shop --size 50";

const DELETE_EXAMPLES: &str = "\
Deletes permanently, from the archive too. Other sequence numbers do not change.

Examples:
  ctxc buffer delete 7
  ctxc buffer delete --all --buffer shop";

#[derive(Debug, clap::Args)]
#[command(subcommand_required = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Add an utterance
    #[command(after_help = PUSH_EXAMPLES)]
    Push(Box<push::Args>),
    /// Add the messages of a session
    #[command(after_help = LOAD_EXAMPLES)]
    Load(Box<load::Args>),
    /// Show the newest utterances
    Last(read::LastArgs),
    /// Show all utterances
    Read(read::ReadArgs),
    /// Search utterances
    Search(read::SearchArgs),
    /// Show the summary of evicted utterances
    Summary(WhereArgs),
    /// Show how full the buffer is
    Tokens(WhereArgs),
    /// Delete an utterance or the buffer
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(delete::Args),
    /// List the buffers
    List(ArchiveArg),
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Buffer")]
pub(crate) struct WhereArgs {
    /// Buffer name
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = name)]
    pub(super) buffer: Name,
    #[command(flatten)]
    pub(super) archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Buffer")]
pub(crate) struct ArchiveArg {
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    archive: Option<String>,
}

impl WhereArgs {
    /// The URL of the archive.
    pub(super) fn url(&self, context: &Context<'_>) -> Result<String, CommandError> {
        context.environment.archive_url(self.archive.archive.as_deref())
    }
}

fn name(typed: &str) -> Result<Name, String> {
    typed.parse().map_err(|error: crate::buffer::NotAName| error.to_string())
}

/// Reads the name of a speaker.
pub(super) fn speaker() -> impl TypedValueParser<Value = Speaker> {
    PossibleValuesParser::new(Speaker::ALL.map(Speaker::name)).try_map(|name| name.parse::<Speaker>())
}
