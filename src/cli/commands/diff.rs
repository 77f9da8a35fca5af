//! `ctxc diff`: compare a session with its source, or with another session.

use std::path::PathBuf;

use anyhow::anyhow;
use similar::TextDiff;

use crate::cli::args::SessionArg;
use crate::cli::completing;
use crate::cli::context::Context;
use crate::report::diff::{Became, Diff, DiffEntry, Side};
use crate::report::envelope::About;
use crate::report::look::Look;
use crate::report::show::{Length, ShownMessage};
use crate::report::when::to_second;
use crate::session::archives;
use crate::session::error::CommandError;
use crate::session::reading::Reading;
use ctxc_core::apply::{EntryChange, Outline, OutlineEntry, ShownText, read_shown_texts};
use ctxc_transcript::Calibration;
use ctxc_transcript::session::{FoundBy, FoundSession};
use ctxc_transcript::text::{StopRequested, clip_text, collapse_whitespace};

pub(crate) const EXAMPLES: &str = "\
With one session, compares it with the original: the session before any edit by ctxc, with the messages appended \
since. Entries are matched by uuid. Only active entries are compared, and only what the model sees of them.

Examples:
  ctxc diff
  ctxc diff session.jsonl smaller.jsonl
  ctxc diff 3f9a1c2b latest --full
  ctxc diff session.jsonl smaller.jsonl --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path, session id or its prefix, or `latest` [default: the newest session of this project]
    #[arg(value_name = "SESSION", add = completing::sessions())]
    first: Option<PathBuf>,
    /// Session to compare SESSION with [default: the source of SESSION]
    #[arg(value_name = "OTHER", add = completing::sessions())]
    second: Option<PathBuf>,
    /// Do not shorten long differences
    #[arg(long)]
    full: bool,
}

/// The two sessions that are compared.
#[derive(Debug)]
enum Sides {
    /// Any two sessions; the first is the earlier one.
    Two(FoundSession, FoundSession),
    /// A session and its state before all operations of ctxc, from the archive at this URL.
    Source { session: FoundSession, archive: String },
}

/// The maximum number of lines of a difference.
const LINES: usize = 24;
/// The maximum width of a title in a heading, in columns: with an id and figures it fits into 80.
const TITLE_WIDTH: usize = 30;
/// The maximum length of a line of a difference, in characters, including the `…`.
const WIDTH: usize = 201;
/// The maximum length of a text that is not compared, in characters, including the `…`.
const BEGINNING: usize = 61;

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<(), CommandError> {
    let ui = context.ui;
    let first = SessionArg { session: args.first }.find(context)?;
    let sides = match args.second {
        Some(second) => Sides::Two(first, SessionArg { session: Some(second) }.find(context)?),
        None => Sides::Source { session: first, archive: context.environment.archive_url(None)? },
    };
    let length = if args.full { Length::Full } else { Length::Short };
    let (before, after) = read(&sides, context)?;
    let (outline, other) = (outline(&before)?, outline(&after)?);
    let changes = outline.find_changes(&other);
    let n_gone = changes.iter().filter(|change| !matches!(change, EntryChange::Added(_))).count();
    let mut entries = Vec::new();
    for change in changes {
        StopRequested::check_flag(ui.stop()).map_err(|_| CommandError::interrupted())?;
        entries.push(entry(change, &before, &after, length)?);
    }
    let is_own = |reading: &Reading| reading.drafted.is_none();
    let side = |reading: &Reading, outline: &Outline| Side {
        name: if is_own(reading) { reading.name.clone() } else { format!("the source of {}", reading.name) },
        label: if is_own(reading) { reading.session().label_within(TITLE_WIDTH) } else { "its source".to_owned() },
        entries: outline.len() as u64,
        tokens: outline.tokens(),
        usage: Calibration::learn_from_usage(&reading.index, &reading.chain).context_size(outline.tokens()),
    };
    let measure = Calibration::learn_from_usage(&before.index, &before.chain);
    let unchanged = outline.len().saturating_sub(n_gone) as u64;
    let diff = Diff::new(side(&before, &outline), side(&after, &other), unchanged, entries, measure);
    let look = match length {
        Length::Short => ui.look(),
        Length::Full => Look { width: None, ..ui.look() },
    };
    context.print_quoted(About::Nothing, &diff, diff.text(look))?;
    if diff.unchanged == 0 && diff.changed.entries == 0 && !outline.is_empty() && !other.is_empty() {
        ui.hint("the sessions have no entry in common");
    }
    Ok(())
}

/// Reads both sessions.
fn read(sides: &Sides, context: &Context<'_>) -> Result<(Reading, Reading), CommandError> {
    let ui = context.ui;
    match sides {
        Sides::Two(FoundSession::StandardInput, FoundSession::StandardInput) => {
            Err(CommandError::usage(anyhow!("only one session can be standard input"))
                .hint("use a path or a session id for the other"))
        }
        Sides::Two(before, after) => {
            context.probe_report([before, after].into_iter().filter_map(FoundSession::path))?;
            Ok((Reading::of(before, ui)?, Reading::of(after, ui)?))
        }
        Sides::Source { session: FoundSession::StandardInput, .. } => {
            Err(CommandError::usage(anyhow!("standard input cannot be compared with its source"))
                .hint("use a path or a session id"))
        }
        Sides::Source { session, archive } => {
            context.probe_report(session.path())?;
            let after = Reading::of(session, ui)?;
            let again = session.path().map(|path| FoundSession::File { path: path.to_owned(), by: FoundBy::Id });
            let mut before = Reading::of(&again.unwrap_or_else(|| session.clone()), ui)?;
            let is_changed = match archives::open_if_there(archive)? {
                Some(archive) => before.undo_all(&*archive, ui)?,
                None => false,
            };
            if !is_changed {
                ui.status("no operation in the archive changed this session");
            }
            Ok((before, after))
        }
    }
}

fn outline(reading: &Reading) -> Result<Outline, CommandError> {
    reading.named(Outline::of(reading.transcript()))
}

fn entry(change: EntryChange, before: &Reading, after: &Reading, length: Length) -> Result<DiffEntry, CommandError> {
    let texts = |reading: &Reading, entry: OutlineEntry| {
        reading.named(read_shown_texts(&reading.file, &reading.index, entry.line))
    };
    Ok(match change {
        EntryChange::Dropped(entry) => DiffEntry {
            line_before: Some(entry.line.one_based()),
            tokens_before: Some(entry.tokens),
            ..alone(Became::Dropped, &texts(before, entry)?)
        },
        EntryChange::Added(entry) => DiffEntry {
            line_after: Some(entry.line.one_based()),
            tokens_after: Some(entry.tokens),
            ..alone(Became::Added, &texts(after, entry)?)
        },
        EntryChange::Changed(old, new) => {
            let (shown, other) = (texts(before, old)?, texts(after, new)?);
            DiffEntry {
                line_before: Some(old.line.one_based()),
                line_after: Some(new.line.one_based()),
                tokens_before: Some(old.tokens),
                tokens_after: Some(new.tokens),
                diff: difference(&joined(&shown), &joined(&other), length),
                ..alone(Became::Changed, &shown)
            }
        }
    })
}

/// An entry with these texts, without lines and sizes.
fn alone(became: Became, shown: &[ShownText]) -> DiffEntry {
    let what = shown.first().map_or_else(|| "without text".to_owned(), |first| ShownMessage::new(first.clone()).what());
    let text = collapse_whitespace(&joined(shown));
    let beginning = clip_text(&text, BEGINNING);
    let time = shown.first().and_then(|first| first.time).map(to_second);
    DiffEntry {
        became,
        line_before: None,
        line_after: None,
        tokens_before: None,
        tokens_after: None,
        time,
        what,
        beginning: crate::report::show::printable(&beginning),
        diff: None,
    }
}

fn joined(shown: &[ShownText]) -> String {
    shown.iter().map(|shown| shown.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The difference between two texts by lines; `None` if they are equal.
fn difference(before: &str, after: &str, length: Length) -> Option<String> {
    if before == after {
        return None;
    }
    let diff = TextDiff::from_lines(before, after);
    let lines: Vec<String> = diff
        .unified_diff()
        .context_radius(2)
        .missing_newline_hint(false)
        .to_string()
        .lines()
        .map(|line| match length {
            Length::Short => clip_text(line, WIDTH),
            Length::Full => line.to_owned(),
        })
        .collect();
    let n_shown = match length {
        Length::Short => LINES,
        Length::Full => lines.len(),
    };
    let n_more = lines.len().saturating_sub(n_shown);
    let mut shown: Vec<String> = lines.into_iter().take(n_shown).collect();
    if n_more > 0 {
        shown.push(format!("[... {n_more} more lines; --full shows them]"));
    }
    Some(shown.join("\n"))
}
