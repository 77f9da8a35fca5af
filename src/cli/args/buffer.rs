//! What the verbs of `ctxc buffer` are told.

use std::num::NonZeroU64;

use clap::Subcommand;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};

use super::engine::EngineArgs;
use super::shared::SessionArg;
use super::summarizing::WordingArgs;
use crate::buffer::{Change, Name, Speaker};
use crate::cli::commands::buffer::{Asked, Filling, Said, Settings, delete, load, push, read};
use crate::cli::error::CommandError;
use crate::cli::quantity::some_tokens;
use crate::cli::settings::{Context, Strictness};
use ctxc_transcript::text::Tokens;

pub(super) const EXAMPLES: &str = "\
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
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add an utterance
    #[command(after_help = PUSH_EXAMPLES)]
    Push(Box<PushArgs>),
    /// Add the messages of a session
    #[command(after_help = LOAD_EXAMPLES)]
    Load(Box<LoadArgs>),
    /// Show the newest utterances
    Last(LastArgs),
    /// Show all utterances
    Read(ReadArgs),
    /// Search utterances
    Search(SearchArgs),
    /// Show the summary of evicted utterances
    Summary(WhereArgs),
    /// Show how full the buffer is
    Tokens(WhereArgs),
    /// Delete an utterance or the buffer
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(DeleteArgs),
    /// List the buffers
    List(ArchiveArg),
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Buffer")]
struct WhereArgs {
    /// Buffer name
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = name)]
    buffer: Name,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Buffer")]
struct ArchiveArg {
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    archive: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum number of utterances [default: the stored limit, else 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    size: Option<u32>,
    /// Maximum tokens; the newest utterance always stays [default: the stored limit, else 8000]
    #[arg(long, value_name = "N", value_parser = some_tokens)]
    max_tokens: Option<NonZeroU64>,
    /// Maximum tokens of the summary [default: the stored limit, else 1000]
    #[arg(long, value_name = "N", value_parser = some_tokens)]
    summary_tokens: Option<NonZeroU64>,
    /// Exit with 3 if something could not be summarized
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    wording: WordingArgs,
}

#[derive(Debug, clap::Args)]
struct PushArgs {
    /// Text of the utterance [default: standard input]
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Speaker
    #[arg(long, value_name = "WHO", default_value = "user", value_parser = speaker())]
    speaker: Speaker,
    /// Turn number [default: as before, or the next one for a user]
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    #[command(flatten)]
    place: WhereArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
struct LoadArgs {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    place: WhereArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, clap::Args)]
struct LastArgs {
    /// Number of utterances
    #[arg(value_name = "N")]
    n: u32,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Debug, clap::Args)]
struct ReadArgs {
    /// Only utterances of this speaker
    #[arg(long, value_name = "WHO", value_parser = speaker())]
    speaker: Option<Speaker>,
    #[command(flatten)]
    place: WhereArgs,
}

#[derive(Debug, clap::Args)]
struct SearchArgs {
    /// Words to search for, whole or in part
    #[arg(value_name = "QUERY")]
    query: String,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Debug, clap::Args)]
struct DeleteArgs {
    /// Sequence number of the utterance, which may be evicted
    #[arg(value_name = "SEQ", required_unless_present = "all", conflicts_with = "all")]
    sequence: Option<u64>,
    /// Delete the buffer, its summary and its limits
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(short, long, requires = "all")]
    yes: bool,
    #[command(flatten)]
    place: WhereArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let (place, asked) = match self.verb {
            Verb::Push(typed) => {
                let PushArgs { text, speaker, turn, place, limits, engine } = *typed;
                let said = text.filter(|text| text != "-").map_or(Said::StandardInput, Said::Text);
                let filling = limits.resolve(engine, &context)?;
                (place, Asked::Push(Box::new(push::Settings { said, speaker, turn, filling })))
            }
            Verb::Load(typed) => {
                let LoadArgs { session, place, limits, engine } = *typed;
                let filling = limits.resolve(engine, &context)?;
                (place, Asked::Load(Box::new(load::Settings { source: session.find(&context)?, filling })))
            }
            Verb::Last(LastArgs { n, read: ReadArgs { speaker, place } }) => {
                (place, Asked::Read(read::Settings { which: read::Which::Last(n), speaker }))
            }
            Verb::Read(ReadArgs { speaker, place }) => {
                (place, Asked::Read(read::Settings { which: read::Which::All, speaker }))
            }
            Verb::Search(SearchArgs { query, limit, read: ReadArgs { speaker, place } }) => {
                (place, Asked::Read(read::Settings { which: read::Which::Found { query, limit }, speaker }))
            }
            Verb::Summary(place) => (place, Asked::Summary),
            Verb::Tokens(place) => (place, Asked::Tokens),
            Verb::Delete(DeleteArgs { sequence, all: _, yes, place }) => {
                let consent = if yes { delete::Consent::Given } else { delete::Consent::Asked };
                let what = sequence.map_or(delete::What::All(consent), delete::What::One);
                (place, Asked::Delete(what))
            }
            Verb::List(archive) => (WhereArgs { buffer: default_name()?, archive }, Asked::List),
        };
        let WhereArgs { buffer, archive } = place;
        let archive = context.environment.archive_url(archive.archive.as_deref())?;
        Ok(Settings { archive, buffer, asked, reporting: context.reporting })
    }
}

impl LimitArgs {
    fn resolve(self, engine: EngineArgs, context: &Context<'_>) -> Result<Filling, CommandError> {
        Ok(Filling {
            change: Change {
                size: self.size,
                max_tokens: self.max_tokens.map(|n| Tokens(n.get())),
                summary_tokens: self.summary_tokens.map(|n| Tokens(n.get())),
            },
            // The limit is that of the buffer.
            how: self.wording.resolve(engine, context.environment)?,
            strictness: if self.strict { Strictness::Strict } else { Strictness::Lenient },
        })
    }
}

fn default_name() -> Result<Name, CommandError> {
    Ok("default".parse::<Name>()?)
}

fn name(typed: &str) -> Result<Name, String> {
    typed.parse().map_err(|error: crate::buffer::NotAName| error.to_string())
}

fn speaker() -> impl TypedValueParser<Value = Speaker> {
    PossibleValuesParser::new(Speaker::ALL.map(Speaker::name)).try_map(|name| name.parse::<Speaker>())
}
