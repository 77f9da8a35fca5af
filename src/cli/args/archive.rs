//! What the verbs of `ctxc archive` are told.

use clap::Subcommand;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;

use super::meaning::MeaningArgs;
use crate::cli::commands::archive::{Asked, Settings, copy, gc, list, search, show};
use crate::cli::error::CommandError;
use crate::cli::quantity::age;
use crate::cli::settings::{Context, Mode};
use ctxc_store::{ArchiveUrl, Kind};

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
Finds entries that contain all words, or some of the words if none contains all. There is no query syntax. A \
word can be part of a longer one; Chinese, Japanese and Korean need no spaces.

With [embeddings] in your ctxc.toml, entries are also found by meaning. The server receives the query and new \
prompts, answers and summaries, with secrets replaced.

Examples:
  ctxc archive search \"connection refused\"
  ctxc archive search parseUrl --session latest --speaker tool
  ctxc archive search 会议 --limit 3 --json";

const GC_EXAMPLES: &str = "\
Drops cached results older than 30 days, expired records, and unreferenced lines.

--originals with --older-than also drops what old operations removed: it can then never be restored. --sessions \
also drops sessions, with their history, that were not kept, read or edited for AGE. A session stays whatever \
its age while its file exists, or a result of it that can be undone.

Examples:
  ctxc archive gc --dry-run
  ctxc archive gc --sessions 180d
  ctxc archive gc --originals --older-than 365d";

const UPGRADE_EXAMPLES: &str = "\
Older versions of ctxc cannot use the archive afterwards, so agree on a time with everyone who uses it. Prints \
the grants for the new tables; the owner of the tables then runs them. Archives in files are upgraded when they \
are opened.

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
    /// List operations, or entries of one kind
    List(ListArgs),
    /// Show an operation, a removed entry, or a record
    Show(ShowArgs),
    /// Search entries by words, and by meaning where configured
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Copy an archive into another
    Copy(CopyArgs),
    /// Upgrade an archive on a server
    #[command(after_help = UPGRADE_EXAMPLES)]
    Upgrade(ArchiveArg),
    /// Drop expired records and free their space
    #[command(after_help = GC_EXAMPLES)]
    Gc(GcArgs),
}

#[derive(Debug, clap::Args)]
struct ArchiveArg {
    /// Archive URL: sqlite:PATH or postgres://... [env: CTXC_ARCHIVE=] [default: a file in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters")]
struct NarrowArgs {
    /// Only this session and those it was made from: a path, an id or its prefix, or `latest`
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,
    /// Only entries of this kind
    #[arg(long, value_parser = kind())]
    kind: Option<Kind>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// List sessions by size, largest first
    #[arg(long, conflicts_with_all = ["session", "kind"])]
    size: bool,
    #[command(flatten)]
    narrow: NarrowArgs,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Operation id, or the id in a placeholder or search result; a prefix is enough
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// Print the original line byte for byte
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct SearchArgs {
    /// Words to search for
    #[arg(value_name = "QUERY")]
    query: String,
    #[command(flatten)]
    narrow: NarrowArgs,
    /// Only this speaker: user, assistant, tool or client
    #[arg(long, value_name = "WHO", help_heading = "Filters")]
    speaker: Option<String>,
    #[command(flatten)]
    meaning: MeaningArgs,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct CopyArgs {
    /// Archive to copy into: sqlite:PATH or postgres://...; created if missing
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    to: String,
    #[command(flatten)]
    archive: ArchiveArg,
}

#[derive(Debug, clap::Args)]
struct GcArgs {
    /// Also drop originals
    #[arg(long, requires = "older_than")]
    originals: bool,
    /// With --originals: those of operations older than AGE: 12h, 30d, 8w, 1y
    #[arg(long, value_name = "AGE", requires = "originals", value_parser = age)]
    older_than: Option<SignedDuration>,
    /// Also drop sessions not used for AGE: 12h, 30d, 8w, 1y
    #[arg(long, value_name = "AGE", value_parser = age)]
    sessions: Option<SignedDuration>,
    /// Show what would be dropped
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
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
                    original_age: typed.older_than.filter(|_| typed.originals),
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
