//! The plugin's installation, and the verbs that it runs.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::Value;

#[cfg(feature = "mcp")]
use super::compact::ask;
use super::compact::{compact, print_measured};
use super::process::{program, read_input};
use super::upkeep::repair;
use crate::cli::client::{
    Mode, Status, Touched, add_status_line, is_own_status_line, program_in, remove, remove_status_line, settings,
    skills_folder, status_line, version_in, write,
};
use crate::cli::context::Context;
use crate::cli::environment::data_dir;
use crate::report::client::{ClientStatus, FileRow, Installed};
use crate::session::error::CommandError;
use ctxc_store::hide_password;

pub(crate) const EXAMPLES: &str = "\
Once installed, `/compact` and automatic compaction in Claude Code are done by ctxc: locally, with no request to \
a model. Superseded and old tool results are removed first, then the oldest messages are summarized. Your \
prompts are kept.

`compact` and `repair` are run by the plugin; both read JSON from standard input.";

pub(crate) const STATUS_LINE: &str = "\
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
    Ask(Box<super::super::mcp::Args>),
    /// Repair and store the session named on standard input (run by the plugin)
    Repair {
        /// Only store the session
        #[arg(long, hide = true)]
        settle: bool,
    },
}

impl Args {
    /// Whether it compacts, or says whether to.
    pub(crate) fn compacts(&self) -> bool {
        match self.action {
            Action::Compact | Action::Measure { .. } => true,
            #[cfg(feature = "mcp")]
            Action::Ask(_) => true,
            Action::Install { .. }
            | Action::Uninstall { .. }
            | Action::PluginDir
            | Action::Status
            | Action::Repair { .. } => false,
        }
    }
}

/// The arguments of `ctxc statusline`.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusLineArgs {
    /// Add the status line to the settings of Claude Code
    #[arg(long)]
    install: bool,
}

#[cfg_attr(
    not(feature = "mcp"),
    expect(clippy::needless_pass_by_value, reason = "the arguments of the server are taken")
)]
pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<(), CommandError> {
    let mode = |dry_run| if dry_run { Mode::Preview } else { Mode::Write };
    match args.action {
        Action::Install { dry_run } => install(&place(context)?, mode(dry_run), context),
        Action::Uninstall { dry_run } => uninstall(&place(context)?, mode(dry_run), context),
        Action::PluginDir => {
            let place = place(context)?;
            write(&place.data, &program()?, Mode::Write)?;
            context.ui.data_line(place.data.display())?;
            Ok(())
        }
        Action::Status => status(&place(context)?, context),
        Action::Measure { percent, compacted_at } => print_measured(percent, compacted_at, context),
        #[cfg(feature = "mcp")]
        Action::Ask(args) => ask(&args.settings(context)?, context.ui),
        Action::Compact => compact(context),
        Action::Repair { settle } => repair(settle, context),
    }
}

pub(crate) fn run_status_line(args: &StatusLineArgs, context: &Context<'_>) -> Result<(), CommandError> {
    if args.install {
        let place = place(context)?;
        let touched = add_status_line(&place.client_settings, &program()?, Mode::Write)?;
        return print("install", Mode::Write, vec![touched], None, context);
    }
    let status: Status = serde_json::from_str(&read_input()?).context("read the status of the client")?;
    context.ui.data_line(status_line(&status, context.environment.config.client.target))?;
    Ok(())
}

/// Where the plugin is, and what belongs to it.
#[derive(Debug)]
struct Place {
    /// The folder of the plugin.
    folder: PathBuf,
    /// The folder that `plugin-dir` writes to.
    data: PathBuf,
    /// The user's settings of the client.
    client_settings: PathBuf,
    /// The archive in which sessions are stored when they end; null where they are not.
    kept_in: Option<String>,
}

fn place(context: &Context<'_>) -> Result<Place, CommandError> {
    let environment = context.environment;
    let projects = environment.places()?.projects;
    let config = projects.parent().unwrap_or(&projects);
    let archive = hide_password(&environment.archive_url(None)?);
    Ok(Place {
        folder: skills_folder(config),
        data: data_dir()?.join("plugin"),
        client_settings: config.join("settings.json"),
        kept_in: environment.config.client.keep.then_some(archive),
    })
}

fn install(place: &Place, mode: Mode, context: &Context<'_>) -> Result<(), CommandError> {
    let touched = write(&place.folder, &program()?, mode)?;
    print("install", mode, touched, place.kept_in.clone(), context)
}

fn uninstall(place: &Place, mode: Mode, context: &Context<'_>) -> Result<(), CommandError> {
    let mut touched = remove(&place.folder, mode)?;
    touched.extend(remove(&place.data, mode)?);
    touched.extend(remove_status_line(&place.client_settings, mode)?);
    print("uninstall", mode, touched, None, context)
}

/// Prints what became of files.
fn print(
    action: &'static str,
    mode: Mode,
    touched: Vec<Touched>,
    kept_in: Option<String>,
    context: &Context<'_>,
) -> Result<(), CommandError> {
    let row = |Touched { path, fate }: Touched| FileRow { path, fate: format!("{fate:?}").to_lowercase() };
    let files = touched.into_iter().map(row).collect();
    let report = Installed { action, dry_run: mode == Mode::Preview, files, kept_in };
    context.print(&report, format_args!("{report}\n"))
}

fn status(place: &Place, context: &Context<'_>) -> Result<(), CommandError> {
    let program = program_in(&place.folder);
    let client_settings = settings(&place.client_settings)?;
    let report = ClientStatus {
        folder: place.folder.clone(),
        version: version_in(&place.folder),
        program_version: env!("CARGO_PKG_VERSION"),
        proven_client: ctxc_transcript::PROVEN_CLIENT,
        program_is_there: program.as_ref().is_some_and(|program| program.is_file()),
        program,
        hooks_disabled: client_settings.get("disableAllHooks").and_then(Value::as_bool) == Some(true),
        status_line: is_own_status_line(&client_settings) == Some(true),
        kept_in: place.kept_in.clone(),
    };
    context.print(&report, format_args!("{report}\n"))
}
