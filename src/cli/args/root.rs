//! The command itself: its verbs, and the options that all of them have.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

#[cfg(feature = "mcp")]
use super::mcp;
use super::{
    archive, buffer, check, compact, completions, compress, diff, discard, distill, keep, list, log, man, prune, refs,
    restore, run, show, stats, truncate, undo,
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

/// Shrink coding-agent transcripts so that the work can go on in the context window that is left
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
    /// Shorten the messages of whole bands of turns
    #[command(after_help = compress::EXAMPLES)]
    Compress(Box<compress::Args>),
    /// Cut tool results that later ones supersede, and what nobody needs any more
    #[command(after_help = prune::EXAMPLES)]
    Prune(prune::Args),
    /// Put summaries in the place of the oldest messages
    #[command(after_help = compact::EXAMPLES)]
    Compact(Box<compact::Args>),
    /// Drop the oldest messages until the rest fits
    #[command(after_help = truncate::EXAMPLES)]
    Truncate(truncate::Args),
    /// Name every problem that would stop or bend a resume
    #[command(after_help = check::EXAMPLES)]
    Check(check::Args),
    /// List the sessions of this project
    #[command(after_help = list::EXAMPLES)]
    List(list::Args),
    /// Show messages as people read them
    #[command(after_help = show::EXAMPLES)]
    Show(show::Args),
    /// Tell how two transcripts differ, message by message
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::Args),
    /// Show what takes the room
    #[command(after_help = stats::EXAMPLES)]
    Stats(stats::Args),
    /// List what can be named: tool calls by their handles, messages by patterns
    #[command(after_help = refs::EXAMPLES)]
    Refs(refs::Args),
    /// Take out what is named
    #[command(after_help = discard::EXAMPLES)]
    Discard(discard::Args),
    /// Put a summary in the place of what is named
    #[command(after_help = distill::EXAMPLES)]
    Distill(distill::Args),
    /// Bring back what was taken out
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::Args),
    /// Undo the newest operation on a session, or another
    #[command(after_help = undo::EXAMPLES)]
    Undo(undo::Args),
    /// Take several steps in one: prune, compress, compact, truncate; towards a target, or by a preset
    #[command(after_help = run::EXAMPLES)]
    Run(Box<run::Args>),
    /// Store sessions in the archive, unchanged
    #[command(after_help = keep::EXAMPLES)]
    Keep(keep::Args),
    /// Tell how a session came to be what it is
    #[command(after_help = log::EXAMPLES)]
    Log(log::Args),
    /// Look into the archive of what was taken out
    #[command(after_help = archive::EXAMPLES)]
    Archive(archive::Args),
    /// Keep a conversation: the newest of it word for word, the rest in short
    #[command(after_help = buffer::EXAMPLES)]
    Buffer(buffer::Args),
    /// Serve agents over the Model Context Protocol
    #[cfg(feature = "mcp")]
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(mcp::Args),
    /// Print the configuration, and where each value comes from
    Config,
    /// Print what makes a shell complete verbs and options
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Args),
    /// Print the manual, or write a page for each verb
    #[command(after_help = man::EXAMPLES)]
    Man(man::Args),
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Write the JSON object to FILE as well
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say each step
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Use colors
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

    pub(crate) fn reporting(&self) -> Reporting {
        let form = if self.json { Form::Json } else { Form::Text };
        Reporting { form, report: self.report.clone() }
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
