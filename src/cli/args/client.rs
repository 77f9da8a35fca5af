//! What `ctxc client` is told.

use std::num::NonZeroUsize;

use clap::Subcommand;

#[cfg(feature = "mcp")]
use super::prune::configured;
use crate::cli::client::{Doing, How, skills_folder};
use crate::cli::commands::client::{Measure, Place, Settings, Upkeep};
use crate::cli::error::CommandError;
use crate::cli::places::data_dir;
use crate::cli::settings::{Compacting, Context, EngineChoice, Keep, Mode, Output, Rewriting, Summaries, Summarizing};
use crate::cli::shelf::shelf;
use ctxc_core::plan::{Preset, PruneStage};
use ctxc_core::version::ThinkingPolicy;
use ctxc_engine::Prompts;
use ctxc_store::hide_password;
use ctxc_transcript::session::Found;
use ctxc_transcript::text::Tokens;

pub(super) const EXAMPLES: &str = "\
Once installed, `/compact` and automatic compaction in Claude Code are done by ctxc: locally, with no request to \
a model. Superseded and old tool results are removed first, then the oldest messages are summarized. Your \
prompts are kept.

`compact` and `repair` are run by the plugin; both read JSON from standard input.";

pub(super) const STATUS_LINE: &str = "\
Reads the status of Claude Code from standard input. Prints usage, percent of the context window, whether the \
prompt cache is warm, and what compacting would save.

Examples:
  ctxc statusline --install";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install the plugin for Claude Code
    Install {
        /// Show the files without writing them
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove the plugin and the status line
    Uninstall {
        /// Show the files without removing them
        #[arg(long)]
        dry_run: bool,
    },
    /// Write the plugin to the data folder and print where (for a marketplace or --plugin-dir)
    PluginDir,
    /// Show what is installed
    Status,
    /// Compact the conversation on standard input (run by the plugin)
    Compact,
    /// Say what a measure of the context calls for (run by the plugin)
    #[command(hide = true)]
    Measure {
        /// How full the context window is
        #[arg(long, value_name = "N")]
        percent: u64,
        /// How full it was when it was last compacted unasked
        #[arg(long, value_name = "N")]
        compacted_at: Option<u64>,
    },
    /// Say what a tool call will do to the running session (run by the plugin)
    #[cfg(feature = "mcp")]
    #[command(hide = true)]
    Ask(Box<super::mcp::Args>),
    /// Repair and store the session named on standard input (run by the plugin)
    Repair {
        /// Only store the session
        #[arg(long, hide = true)]
        settle: bool,
    },
}

impl Args {
    pub(crate) fn resolve(self, context: &Context<'_>) -> Result<Settings, CommandError> {
        match self.action {
            Action::Install { dry_run } => Ok(Settings::Install(
                place(context, PlaceOf::Skills)?,
                if dry_run { Doing::Nothing } else { Doing::It },
            )),
            Action::Uninstall { dry_run } => Ok(Settings::Uninstall(
                place(context, PlaceOf::Skills)?,
                if dry_run { Doing::Nothing } else { Doing::It },
            )),
            Action::PluginDir => Ok(Settings::PluginDir(place(context, PlaceOf::Data)?)),
            Action::Status => Ok(Settings::Status(place(context, PlaceOf::Skills)?)),
            Action::Measure { percent, compacted_at } => {
                let auto = context.environment.config.client.auto()?.map(|auto| auto.of(100));
                Ok(Settings::Measure(Measure { percent, compacted_at, auto }))
            }
            #[cfg(feature = "mcp")]
            Action::Ask(typed) => typed.resolve(context).map(|settings| Settings::Ask(Box::new(settings))),
            Action::Compact => how(context).map(|how| Settings::Compact(Box::new(how))),
            Action::Repair { settle } => Ok(Settings::Repair(upkeep(context, settle)?)),
        }
    }
}

/// Where a plugin is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceOf {
    Skills,
    Data,
}

fn place(context: &Context<'_>, of: PlaceOf) -> Result<Place, CommandError> {
    let environment = context.environment;
    let projects = environment.places()?.projects;
    let config = projects.parent().unwrap_or(&projects);
    let folder = if of == PlaceOf::Skills { skills_folder(config) } else { data_dir()?.join("plugin") };
    let archive = hide_password(&environment.archive_url(None)?);
    Ok(Place {
        folder,
        data: data_dir()?.join("plugin"),
        client_settings: config.join("settings.json"),
        kept_in: environment.config.client.keep.then_some(archive),
        reporting: context.reporting.clone(),
    })
}

/// The arguments of `ctxc statusline`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusLineArgs {
    /// Add the status line to the settings of Claude Code
    #[arg(long)]
    install: bool,
}

impl StatusLineArgs {
    pub(crate) fn resolve(self, context: &Context<'_>) -> Result<Settings, CommandError> {
        if self.install {
            return place(context, PlaceOf::Skills).map(Settings::InstallStatusLine);
        }
        Ok(Settings::StatusLine(context.environment.config.client.target))
    }
}

fn upkeep(context: &Context<'_>, settle: bool) -> Result<Upkeep, CommandError> {
    let environment = context.environment;
    Ok(Upkeep {
        archive: environment.archive_url(None)?,
        on_server: environment.server_consent(),
        keeps: environment.config.client.keep,
        window: environment.config.window(),
        part: environment.config.client.target,
        settle,
    })
}

/// How a conversation is compacted in the client: as configured, by the engine that is built in.
fn how(context: &Context<'_>) -> Result<How, CommandError> {
    let environment = context.environment;
    let config = &environment.config;
    let keep = Keep::In(environment.archive_url(None)?);
    let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let protections = PruneStage {
        protect_steps: clamp(config.protect_steps),
        protect_turns: clamp(config.protect_turns),
        protected_tools: config.protected_tools.clone(),
        protected_files: config.protected_files.clone(),
        ..PruneStage::default()
    };
    // Images and copies are no part of what the client hands over.
    let stage = |preset: Preset| PruneStage { also: Vec::new(), ..preset.stage(protections.clone()) };
    let summarization = &config.summarization;
    Ok(How {
        rewriting: Rewriting {
            source: Found::StandardInput,
            estimate: config.tokens,
            thinking: ThinkingPolicy::Keep,
            output: Output::StandardOutput,
            shelf: shelf(&keep, environment)?,
            keep,
            on_server: environment.server_consent(),
            keep_max: None,
            typed_archive: None,
            mode: Mode::Do,
            window: config.window(),
            reporting: context.reporting.clone(),
        },
        compacting: Compacting {
            summaries: Summaries {
                summarizing: Summarizing {
                    engine: EngineChoice::Extract,
                    limit: Tokens::ZERO,
                    prompts: Prompts::Whole,
                    persona: String::new(),
                    prompt: None,
                },
                chunk_size: NonZeroUsize::new(size(summarization.chunk_size)).unwrap_or(NonZeroUsize::MIN),
                keep_recent: size(summarization.keep_recent),
                clip_first: summarization.clip_first,
                clip_last: summarization.clip_last.max(u32::from(summarization.clip_first == 0)),
                budget: Tokens::ZERO,
            },
            budget: None,
            limit: summarization.max_summary_tokens.map(Tokens),
        },
        prunings: vec![stage(Preset::Gentle), stage(Preset::Standard)],
        #[cfg(feature = "mcp")]
        superseded: PruneStage { also: Vec::new(), ..configured(config) },
        window: config.window(),
        part: config.client.target,
    })
}
