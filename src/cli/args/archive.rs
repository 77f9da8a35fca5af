//! What the verbs of `ctxc archive` are told.

use clap::Subcommand;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;

use super::meaning::MeaningArgs;
use crate::archive::{ArchiveUrl, Kind};
use crate::cli::commands::archive::{Asked, Settings, copy, gc, list, search, show};
use crate::cli::error::CommandError;
use crate::cli::quantity::age;
use crate::cli::settings::{Context, Mode};

pub(super) const EXAMPLES: &str = "\
Examples:
  ctxc archive list --session latest
  ctxc archive list --size
  ctxc archive search \"connection refused\" --kind tool-result
  ctxc archive show 3f9a1c2b7d4e
  ctxc archive copy --to sqlite:backup.sqlite
  ctxc archive copy --to postgres://ann@db.example.org/team
  ctxc archive gc --dry-run";

const SEARCH_EXAMPLES: &str = "\
Any words will do: there is no syntax. Entries with all of them come first; only where there is none, those with some. \
A word may be part of a longer one, and Chinese, Japanese and Korean need no spaces.

With a server for embeddings, [embeddings] in your ctxc.toml, entries are found by what they mean too. It gets the query \
and the prompts, answers and summaries that it has not seen, without their secrets.

Examples:
  ctxc archive search \"connection refused\"
  ctxc archive search parseUrl --session latest --speaker tool
  ctxc archive search 会议 --limit 3 --json";

const GC_EXAMPLES: &str = "\
Cached results older than 30 days go, records that have expired, and lines that nothing refers to. Originals stay, \
unless --originals and --older-than ask for them: what the operations from before that time took out can never be \
restored afterwards. Sessions stay too, unless --sessions asks for them: those that nothing was kept of, read of or made \
of for so long, with all that was made of them. A session stays whatever its age while its file or a result of it is there \
and an operation on it can be undone.

Examples:
  ctxc archive gc --dry-run
  ctxc archive gc --sessions 180d
  ctxc archive gc --originals --older-than 365";

const UPGRADE_EXAMPLES: &str = "\
Older versions of ctxc cannot use the archive afterwards, so that nothing else changes it: agree on a time with everybody who \
uses it. Its owner then runs the statements that are printed, for the others have no rights on the new tables. An archive \
in a file is brought up to date whenever it is opened.

Examples:
  ctxc archive upgrade --archive postgres://ann@db.example.org/team
  ctxc archive upgrade | psql postgres://ann@db.example.org/team";

#[derive(Debug, clap::Args)]
#[command(subcommand_required = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the newest operations, or the newest entries of one kind
    List(ListArgs),
    /// Show an operation, an entry that was taken out, or a record
    Show(ShowArgs),
    /// Find entries by their words, and by what they mean where a server for embeddings is configured
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Copy everything into another archive that lacks it
    Copy(CopyArgs),
    /// Bring an archive on a server up to date
    #[command(after_help = UPGRADE_EXAMPLES)]
    Upgrade(ArchiveArg),
    /// Drop what has served its time, and give its space back
    #[command(after_help = GC_EXAMPLES)]
    Gc(GcArgs),
}

#[derive(Debug, clap::Args)]
struct ArchiveArg {
    /// Look into this archive: sqlite:PATH, or the postgres: URL of a server [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which entries")]
struct NarrowArgs {
    /// Look at this session alone, and at those it was made from: a path, an id or the beginning of one, or `latest`
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,
    /// Look at entries of this kind alone
    #[arg(long, value_parser = kind())]
    kind: Option<Kind>,
    /// Show at most N
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// List what each session takes up, the largest first
    #[arg(long, conflicts_with_all = ["session", "kind"])]
    size: bool,
    #[command(flatten)]
    narrow: NarrowArgs,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// The id of an operation, the digits that a placeholder or a search names, or the beginning of either
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// Print the line byte for byte, as it was taken out
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct SearchArgs {
    /// Words
    #[arg(value_name = "QUERY")]
    query: String,
    #[command(flatten)]
    narrow: NarrowArgs,
    /// Look at what this speaker said alone: user, assistant, tool or client
    #[arg(long, value_name = "WHO", help_heading = "Which entries")]
    speaker: Option<String>,
    #[command(flatten)]
    meaning: MeaningArgs,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct CopyArgs {
    /// The archive to copy into: sqlite:PATH, or the postgres: URL of a server; it is made where there is none
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    to: String,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct GcArgs {
    /// Drop originals too
    #[arg(long, requires = "older_than")]
    originals: bool,
    /// Those of operations of more than so many days
    #[arg(long, value_name = "DAYS", requires = "originals")]
    older_than: Option<u32>,
    /// Drop sessions too that were last kept or worked on before so long: 12h, 30d, 8w, 1y
    #[arg(long, value_name = "AGE", value_parser = age)]
    sessions: Option<SignedDuration>,
    /// Show what would go, and drop nothing
    #[arg(long)]
    dry_run: bool,
    /// Drop without asking
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    archive: ArchiveArg,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let url = |typed: ArchiveArg| context.environment.archive_url(typed.archive.as_deref());
        let (archive, asked) = match self.verb {
            Verb::List(typed) => {
                let NarrowArgs { session, kind, limit } = typed.narrow;
                let what = if typed.size { list::What::Sizes } else { list::What::Content };
                (url(typed.archive)?, Asked::List(list::Settings { what, session, kind, limit }))
            }
            Verb::Show(typed) => {
                let form = if typed.raw { show::Form::Raw } else { show::Form::Texts };
                (url(typed.archive)?, Asked::Show(show::Settings { id: typed.id, form }))
            }
            Verb::Search(typed) => {
                let NarrowArgs { session, kind, limit } = typed.narrow;
                let meaning = typed.meaning.resolve(context.environment)?;
                let asked =
                    search::Settings { query: typed.query, session, kind, speaker: typed.speaker, limit, meaning };
                (url(typed.archive)?, Asked::Search(asked))
            }
            Verb::Copy(typed) => {
                let to = context.environment.archive_url(Some(&typed.to))?;
                let to: ArchiveUrl = to.parse().map_err(CommandError::usage)?;
                (url(typed.archive)?, Asked::Copy(copy::Settings { to }))
            }
            Verb::Upgrade(typed) => (url(typed)?, Asked::Upgrade),
            Verb::Gc(typed) => {
                let asked = gc::Settings {
                    original_days: typed.older_than.filter(|_| typed.originals),
                    session_age: typed.sessions,
                    mode: if typed.dry_run { Mode::Show } else { Mode::Do },
                    consent: if typed.yes { gc::Consent::Given } else { gc::Consent::Asked },
                };
                (url(typed.archive)?, Asked::Gc(asked))
            }
        };
        let places = context.environment.places().ok();
        Ok(Settings { archive, asked, places, reporting: context.reporting })
    }
}

fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| name.parse::<Kind>())
}
