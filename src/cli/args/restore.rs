//! What `ctxc restore` is told.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

use super::shared::{OutputArgs, SessionArg, both_printed};
use crate::cli::commands::restore::Settings;
use crate::cli::error::CommandError;
use crate::cli::settings::{Context, Form, Output};

pub(super) const EXAMPLES: &str = "\
Examples:
  ctxc restore latest --all
  ctxc restore smaller.jsonl --all -o session.jsonl

What a client has added to SESSION since stays behind the source. SESSION has to be as ctxc wrote it up to there.";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct RestoreOutput {
    /// Write to FILE, or to standard output with `-` [default: where the source was]
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    output: Option<PathBuf>,
    /// Put the source in the place of SESSION, which is kept as a backup
    #[arg(long)]
    in_place: bool,
    /// Overwrite an existing FILE; in place, also a session that was written to a moment ago
    #[arg(long)]
    force: bool,
}

impl From<RestoreOutput> for OutputArgs {
    fn from(RestoreOutput { output, in_place, force }: RestoreOutput) -> Self {
        Self { output, in_place, force }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Bring everything back
    #[arg(long, required = true)]
    all: bool,
    #[command(flatten)]
    output: RestoreOutput,
    /// Read what was taken out from this archive, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your
    /// data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
}

impl Args {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<Settings, CommandError> {
        let source = self.session.find(&context)?;
        let output = OutputArgs::from(self.output).resolve(None, &source)?;
        if output == Output::StandardOutput && context.reporting.form == Form::Json {
            return Err(both_printed());
        }
        let archive = context.environment.archive_url(self.archive.as_deref())?;
        Ok(Settings { source, output, archive, reporting: context.reporting })
    }
}
