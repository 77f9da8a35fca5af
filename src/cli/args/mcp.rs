//! What `ctxc mcp` is told.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;

use super::engine::EngineArgs;
use super::meaning::MeaningArgs;
use super::summarizing::SummarizingArgs;
use crate::cli::error::CommandError;
use crate::cli::mcp::Settings;
use crate::cli::settings::{Context, Keep};
use crate::cli::shelf::shelf;
use crate::transcript::session::{self, Found};

pub(super) const EXAMPLES: &str = "\
Clients start it themselves and speak to it over standard input and output; docs/agents.md tells how they are told.

Examples:
  claude mcp add ctxc -- ctxc mcp
  ctxc mcp --session latest";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Act on this session [default: the one of the current project that the call comes from]
    #[arg(long, value_name = "SESSION")]
    session: Option<PathBuf>,
    /// Keep what is taken out in this archive, and search it, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file
    /// in your data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    archive: Option<String>,
    #[command(flatten)]
    summarizing: SummarizingArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Args {
    pub(crate) fn resolve(self, context: &Context<'_>) -> Result<Settings, CommandError> {
        let environment = context.environment;
        let places = environment.places()?;
        let session = match self.session.as_deref().map(|name| session::find(name, &places)).transpose()? {
            Some(Found::StandardInput) => {
                return Err(CommandError::usage(anyhow!(
                    "read the session from standard input: the client speaks there"
                ))
                .hint("give the path of a transcript, a session id, or `latest`"));
            }
            // The folder from which it was named may not be there later.
            Some(Found::File { path, .. }) => Some(std::path::absolute(&path).unwrap_or(path)),
            None => None,
        };
        let keep = Keep::In(environment.archive_url(self.archive.as_deref())?);
        let kept = shelf(&keep, environment)?;
        let Keep::In(archive) = keep else { return Err(anyhow!("serve without an archive").into()) };
        Ok(Settings {
            session,
            places: environment.client_places()?,
            client_session: environment.client_session.clone(),
            archive,
            on_server: environment.server_consent(),
            shelf: kept,
            estimate: environment.config.tokens,
            context_window: self.summarizing.window(environment),
            meaning: MeaningArgs::beside(&self.engine).resolve(environment),
            // All but compacting goes on without an engine.
            summaries: self.summarizing.resolve(self.engine, environment),
        })
    }
}
