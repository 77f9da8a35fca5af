//! `ctxc diff`: tell how two transcripts differ.

use anyhow::{Context, anyhow};
use similar::TextDiff;

use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::tell::{self, tell_quoted};
use crate::cli::ui::Ui;
use crate::report::diff::{Became, Diff, Entry, Side};
use crate::report::look::Look;
use crate::report::show::{Length, Message};
use crate::report::when::to_second;
use ctxc_core::apply::{Change, Outline, Outlined, Shown, shown_in};
use ctxc_transcript::session::Found;
use ctxc_transcript::text::{Stopped, clipped, on_one_line};

/// What to compare.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) before: Found,
    pub(crate) after: Found,
    pub(crate) length: Length,
    pub(crate) reporting: Reporting,
}

/// How many lines of a difference are shown.
const LINES: usize = 24;
/// The longest title in a heading, in columns: with an id and figures it fits into 80.
const TITLE_WIDTH: usize = 30;
/// How many characters of a line of it, the `…` counted.
const WIDTH: usize = 201;
/// How many characters of a text that is not compared, the `…` counted.
const BEGINNING: usize = 61;

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let Settings { before, after, .. } = settings;
    if (before, after) == (&Found::StandardInput, &Found::StandardInput) {
        return Err(CommandError::usage(anyhow!("only one session can be standard input"))
            .hint("use a path or a session id for the other"));
    }
    tell::probe(&settings.reporting, &[before, after].into_iter().filter_map(Found::path).collect::<Vec<_>>())?;
    let (before, after) = (Reading::of(before, ui)?, Reading::of(after, ui)?);
    let (outline, other) = (outline(&before)?, outline(&after)?);
    let changes = outline.changes(&other);
    let n_gone = changes.iter().filter(|change| !matches!(change, Change::Added(_))).count();
    let mut entries = Vec::new();
    for change in changes {
        Stopped::check(ui.stop()).map_err(|_| CommandError::interrupted())?;
        entries.push(entry(change, &before, &after, settings.length)?);
    }
    let side = |reading: &Reading, outline: &Outline| Side {
        name: reading.name.clone(),
        label: reading.session().label_within(TITLE_WIDTH),
        entries: outline.len() as u64,
        tokens: outline.tokens(),
    };
    let unchanged = outline.len().saturating_sub(n_gone) as u64;
    let diff = Diff::new(side(&before, &outline), side(&after, &other), unchanged, entries);
    let look = match settings.length {
        Length::Short => ui.look(),
        Length::Full => Look { width: None, ..ui.look() },
    };
    tell_quoted(&settings.reporting, ui, &diff, diff.text(look))?;
    ui.status(diff.summary());
    if diff.unchanged == 0 && diff.changed.entries == 0 && !outline.is_empty() && !other.is_empty() {
        ui.hint("they have no entry in common");
    }
    Ok(Completion::Full)
}

fn outline(reading: &Reading) -> Result<Outline, CommandError> {
    Ok(Outline::of(&reading.file, &reading.index, &reading.chain).with_context(|| format!("read {}", reading.name))?)
}

fn entry(change: Change, before: &Reading, after: &Reading, length: Length) -> Result<Entry, CommandError> {
    let texts = |reading: &Reading, entry: Outlined| {
        shown_in(&reading.file, &reading.index, entry.line).with_context(|| format!("read {}", reading.name))
    };
    Ok(match change {
        Change::Dropped(entry) => Entry {
            line_before: Some(entry.line.number()),
            tokens_before: Some(entry.tokens),
            ..alone(Became::Dropped, &texts(before, entry)?)
        },
        Change::Added(entry) => Entry {
            line_after: Some(entry.line.number()),
            tokens_after: Some(entry.tokens),
            ..alone(Became::Added, &texts(after, entry)?)
        },
        Change::Changed(old, new) => {
            let (shown, other) = (texts(before, old)?, texts(after, new)?);
            Entry {
                line_before: Some(old.line.number()),
                line_after: Some(new.line.number()),
                tokens_before: Some(old.tokens),
                tokens_after: Some(new.tokens),
                diff: difference(&joined(&shown), &joined(&other), length),
                ..alone(Became::Changed, &shown)
            }
        }
    })
}

/// What is told of an entry with these texts, whatever its lines and sizes.
fn alone(became: Became, shown: &[Shown]) -> Entry {
    let what = shown.first().map_or_else(|| "without text".to_owned(), |first| Message::new(first.clone()).what());
    let text = on_one_line(&joined(shown));
    let beginning = clipped(&text, BEGINNING);
    let time = shown.first().and_then(|first| first.time).map(to_second);
    Entry {
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

fn joined(shown: &[Shown]) -> String {
    shown.iter().map(|shown| shown.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The difference of two texts by lines; `None` where they are equal.
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
            Length::Short => clipped(line, WIDTH),
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
