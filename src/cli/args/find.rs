//! What `ctxc find` is told.

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use jiff::SignedDuration;

use crate::cli::commands::find::Settings;
use crate::cli::error::CommandError;
use crate::cli::places::data_dir;
use crate::cli::quantity::age;
use crate::cli::settings::Context;
use crate::report::list::Projects;
use ctxc_core::apply::Speaker;

pub(super) const EXAMPLES: &str = "\
Finds messages, tool calls and tool results that contain all words, or some of the words if few contain all. \
Words such as \"the\" are ignored, so you can type a question. There is no query syntax; Chinese, Japanese and \
Korean need no spaces. Also searches the archive (sessions whose file is gone, and content that operations \
removed) and the transcripts of subagents, which cannot be resumed.

The index is a local file beside the archive that only you can read. It is updated before each search, so the \
first one takes longer. Like the archive, it stores the words of your sessions unencrypted, secrets included.

Examples:
  ctxc find connection refused
  ctxc find \"which port did we choose?\" --all-projects
  ctxc find migration --speaker user --since 2d
  ctxc find parseUrl --tool Bash --limit 3 --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words to search for
    #[arg(value_name = "QUERY", required = true, value_parser = NonEmptyStringValueParser::new())]
    query: Vec<String>,
    /// Sessions of all projects
    #[arg(long)]
    all_projects: bool,
    /// Only this speaker
    #[arg(long, value_enum, value_name = "WHO")]
    speaker: Option<Who>,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only the last AGE: 12h, 2d, 8w
    #[arg(long, value_name = "AGE", value_parser = age)]
    since: Option<SignedDuration>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,
    /// Archive URL, such as sqlite:PATH [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Who {
    /// The person
    User,
    /// The model, with its tool calls and thinking
    Assistant,
    /// Tool results
    Tool,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        Ok(Settings {
            query: self.query.join(" "),
            places: context.environment.places()?,
            projects: if self.all_projects { Projects::All } else { Projects::Current },
            speaker: self.speaker.map(|who| match who {
                Who::User => Speaker::User,
                Who::Assistant => Speaker::Assistant,
                Who::Tool => Speaker::Tool,
            }),
            tool: self.tool,
            since: self.since,
            limit: self.limit,
            archive: context.environment.archive_url(self.archive.as_deref())?,
            data_dir: data_dir().ok(),
            reporting: context.reporting,
        })
    }
}
