//! What `ctxc export` is told.

use std::path::PathBuf;

use clap::ValueEnum;

use super::shared::{SessionArg, both_printed};
use crate::cli::commands::export::{Secrets, Settings, Which};
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Existing, Form};
use crate::report::export::Format;

pub(super) const EXAMPLES: &str = "\
Exports the active entries: what a resume would send. Secrets are replaced by placeholders such as [SECRET-1].

Examples:
  ctxc export latest --format markdown -o session.md
  ctxc export --all --format ndjson -o sessions.ndjson
  ctxc export session.jsonl --format atif > trajectory.json
  duckdb -c \"SELECT tool, sum(tokens) FROM 'sessions.ndjson' GROUP BY tool\"";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Export the sessions of all projects
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Format of the export
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: TypedFormat,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite FILE
    #[arg(long)]
    force: bool,
    /// Export secrets as they are
    #[arg(long)]
    no_redact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TypedFormat {
    /// One JSON row for each text
    Ndjson,
    /// Markdown for people
    Markdown,
    /// Agent Trajectory Interchange Format 1.7, one trajectory a line
    Atif,
    /// Chat messages, one session a line
    Openai,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let which =
            if self.all { Which::All(context.environment.places()?) } else { Which::One(self.session.find(&context)?) };
        let output = self.output.filter(|path| path.as_os_str() != "-");
        if output.is_none() && context.reporting.form == Form::Json {
            return Err(both_printed());
        }
        Ok(Settings {
            which,
            format: match self.format {
                TypedFormat::Ndjson => Format::Ndjson,
                TypedFormat::Markdown => Format::Markdown,
                TypedFormat::Atif => Format::Atif,
                TypedFormat::Openai => Format::Openai,
            },
            output,
            existing: if self.force { Existing::Overwrite } else { Existing::Respect },
            secrets: if self.no_redact { Secrets::Kept } else { Secrets::Replaced },
            reporting: context.reporting,
        })
    }
}
