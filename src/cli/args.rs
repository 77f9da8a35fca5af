//! What was typed. The doc comments are the help texts.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand, ValueEnum};
use uuid::Uuid;

use super::ui::Verbosity;

const EXAMPLES: &str = "\
Examples:
  ctxc stats latest
  ctxc compress latest --bands 0-30:heavy,50-80:compress
  ctxc compress session.jsonl --bands 0-50:compress -o smaller.jsonl
  ctxc check smaller.jsonl --against session.jsonl
  ctxc restore smaller.jsonl --all -o session.jsonl";

const COMPRESS_EXAMPLES: &str = "\
Bands are START-END:LEVEL in percent of the turns, END not included. LEVEL is compress
(35 % of the tokens stay), heavy (10 %) or a percentage such as 20%.

Examples:
  ctxc compress latest --bands 0-30:heavy,50-80:compress --dry-run
  ctxc compress 1b9d6bcd --bands 0-70:compress --only assistant
  ctxc compress session.jsonl --bands 0-50:20% --include tool-results --in-place
  cat session.jsonl | ctxc compress - --bands 0-50:compress > smaller.jsonl";

const CHECK_EXAMPLES: &str = "\
Exits with 1 when there are errors, with 0 when there are warnings alone.

Examples:
  ctxc check session.jsonl
  ctxc check smaller.jsonl --against session.jsonl";

const STATS_EXAMPLES: &str = "\
Examples:
  ctxc stats latest
  ctxc stats session.jsonl --bands 0-30:heavy,50-80:compress
  ctxc stats latest --json";

const RESTORE_EXAMPLES: &str = "\
Examples:
  ctxc restore latest --all
  ctxc restore smaller.jsonl --all -o session.jsonl

What a client has added to SESSION since stays behind the source. SESSION has to be as ctxc wrote it up to there.";

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
    #[command(after_help = COMPRESS_EXAMPLES)]
    Compress(CompressArgs),
    /// Name every problem that would stop or bend a resume
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Show what takes the room
    #[command(after_help = STATS_EXAMPLES)]
    Stats(StatsArgs),
    /// Bring back what was taken out
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore(RestoreArgs),
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

#[derive(Debug, clap::Args)]
pub(crate) struct CompressArgs {
    #[command(flatten)]
    pub(crate) session: SessionArg,
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Give the new session this id instead of a fresh one
    #[arg(long, value_name = "UUID", conflicts_with_all = ["output", "in_place"], help_heading = "Output")]
    pub(crate) session_id: Option<Uuid>,
    #[command(flatten)]
    pub(crate) archive: ArchiveArgs,
    /// Show what would be done, and do nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Exit with 3 when a message was kept as it was or failed
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SessionArg {
    /// A path, a session id or the beginning of one, `latest`, or `-` for standard input
    #[arg(value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What to compress")]
pub(crate) struct SelectArgs {
    /// Compress these bands of turns, such as 0-30:heavy,50-80:compress
    #[arg(long)]
    pub(crate) bands: String,
    /// Take the messages of one role alone
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(crate) only: Option<Only>,
    /// Take these texts too
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub(crate) include: Vec<Include>,
    /// Leave texts of fewer tokens alone
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) min_tokens: u64,
    /// Leave the newest N turns alone
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) protect_turns: u64,
}

/// Whose messages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Those of the person.
    User,
    /// Those of the model.
    Assistant,
}

/// Texts that are compressed on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Include {
    /// What the tools gave back.
    ToolResults,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How to compress")]
pub(crate) struct HowArgs {
    /// Let this engine shorten the texts
    #[arg(long, value_enum, default_value_t = EngineName::Extract)]
    pub(crate) engine: EngineName,
    /// Estimate tokens this way [default: calibrated where a context window matters, else chars4]
    #[arg(long, value_enum, value_name = "ESTIMATE")]
    pub(crate) tokens: Option<Estimate>,
    /// Keep thinking blocks even where the API may refuse them
    #[arg(long, conflicts_with = "close_loop")]
    pub(crate) keep_thinking: bool,
    /// End an open tool loop with a short answer, so that all later thinking can go
    #[arg(long)]
    pub(crate) close_loop: bool,
}

/// What shortens texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Built in: offline, no key, same input same output
    Extract,
}

/// How tokens are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Estimate {
    /// A quarter of the characters
    Chars4,
    /// The same, scaled by the usage that the transcript records
    Calibrated,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write to FILE, or to standard output with `-` [default: a new session beside the source]
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the source, and leave a backup beside it
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Overwrite an existing FILE, and replace a source that has just changed
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Archive")]
pub(crate) struct ArchiveArgs {
    /// Keep what is taken out in this archive, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your data
    /// folder]
    #[arg(long, value_name = "URL", conflicts_with = "no_archive", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) archive: Option<String>,
    /// Keep nothing of what is taken out; it cannot be restored then
    #[arg(long)]
    pub(crate) no_archive: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// A path, a session id or the beginning of one, `latest`, or `-` for standard input
    #[arg(value_name = "FILE", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) file: String,
    /// Compare with the transcript that FILE was made from
    #[arg(long, value_name = "ORIGINAL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) against: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Show these bands of turns too, such as 0-30:heavy,50-80:compress
    #[arg(long)]
    pub(crate) bands: Option<String>,
    /// Ask this archive which figures ctxc has lowered [env: CTXC_ARCHIVE=]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    pub(crate) archive: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RestoreOutputArgs {
    /// Write to FILE, or to standard output with `-` [default: where the source was]
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Put the source in the place of SESSION, which is kept as a backup
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Overwrite an existing FILE; in place, also a session that was written to a moment ago
    #[arg(long)]
    pub(crate) force: bool,
}

impl From<RestoreOutputArgs> for OutputArgs {
    fn from(RestoreOutputArgs { output, in_place, force }: RestoreOutputArgs) -> Self {
        Self { output, in_place, force }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Bring everything back
    #[arg(long, required = true)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) output: RestoreOutputArgs,
    /// Read what was taken out from this archive, such as sqlite:PATH [env: CTXC_ARCHIVE=] [default: a file in your
    /// data folder]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Archive")]
    pub(crate) archive: Option<String>,
}
