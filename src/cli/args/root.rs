//! The command itself: its verbs, and the options that all of them have.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

#[cfg(feature = "mcp")]
use super::mcp;
use super::{
    archive, batch, buffer, check, compact, completions, compress, diff, discard, distill, export, keep, list, log,
    man, prune, refs, restore, run, show, stats, truncate, undo,
};
use crate::cli::settings::{Form, Reporting};
use crate::cli::ui::Verbosity;

const EXAMPLES: &str = "\
Examples:
  ctxc stats latest
  ctxc prune latest --mask 5
  ctxc compress latest --bands 0-30:heavy,50-80:compress
  ctxc compress session.jsonl --bands 0-50:compress -o smaller.jsonl
  ctxc check smaller.jsonl --against session.jsonl
  ctxc restore smaller.jsonl --all -o session.jsonl";

/// Shrink coding-agent sessions so that work can continue in the same context window
#[derive(Debug, Parser)]
#[command(name = "ctxc", version, after_help = EXAMPLES, subcommand_required = true)]
#[command(max_term_width = 120)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Compress the messages in bands of turns
    #[command(after_help = compress::EXAMPLES)]
    Compress(Box<compress::Args>),
    /// Remove superseded tool results
    #[command(after_help = prune::EXAMPLES)]
    Prune(prune::Args),
    /// Replace the oldest messages with summaries
    #[command(after_help = compact::EXAMPLES)]
    Compact(Box<compact::Args>),
    /// Remove the oldest messages to fit a target
    #[command(after_help = truncate::EXAMPLES)]
    Truncate(truncate::Args),
    /// Check that a session can be resumed
    #[command(after_help = check::EXAMPLES)]
    Check(check::Args),
    /// List sessions
    #[command(after_help = list::EXAMPLES)]
    List(list::Args),
    /// Show the messages of a session
    #[command(after_help = show::EXAMPLES)]
    Show(show::Args),
    /// Compare two sessions message by message
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::Args),
    /// Show token usage
    #[command(after_help = stats::EXAMPLES)]
    Stats(stats::Args),
    /// List tool calls and their handles
    #[command(after_help = refs::EXAMPLES)]
    Refs(refs::Args),
    /// Remove selected items
    #[command(after_help = discard::EXAMPLES)]
    Discard(discard::Args),
    /// Replace selected items with a summary
    #[command(after_help = distill::EXAMPLES)]
    Distill(distill::Args),
    /// Restore removed content
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::Args),
    /// Undo an operation
    #[command(after_help = undo::EXAMPLES)]
    Undo(undo::Args),
    /// Run several steps as a pipeline
    #[command(after_help = run::EXAMPLES)]
    Run(Box<run::Args>),
    /// Store sessions in the archive, unchanged
    #[command(after_help = keep::EXAMPLES)]
    Keep(keep::Args),
    /// Show the operation history of a session
    #[command(after_help = log::EXAMPLES)]
    Log(log::Args),
    /// Search and manage the archive
    #[command(after_help = archive::EXAMPLES)]
    Archive(archive::Args),
    /// Manage rolling conversation buffers
    #[command(after_help = buffer::EXAMPLES)]
    Buffer(buffer::Args),
    /// Start an MCP server for agents
    #[cfg(feature = "mcp")]
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(mcp::Args),
    /// Export sessions to another format
    #[command(after_help = export::EXAMPLES)]
    Export(export::Args),
    /// Run a command on many sessions
    #[command(after_help = batch::EXAMPLES)]
    Batch(batch::Args),
    /// Show the configuration and its sources
    Config,
    /// Generate shell completions
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Args),
    /// Generate manual pages
    #[command(after_help = man::EXAMPLES)]
    Man(man::Args),
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Also write the JSON to FILE
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Only print errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Verbose output
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colors
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

impl GlobalArgs {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }

    pub(crate) fn reporting(&self, verb: String) -> Reporting {
        let form = if self.json { Form::Json } else { Form::Text };
        Reporting { verb, form, report: self.report.clone() }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}
