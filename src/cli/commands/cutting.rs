//! `ctxc discard` and `ctxc distill`: take out, or shorten, what is named.

use std::collections::HashMap;

use anyhow::{Context, anyhow};

use crate::cli::args::{Aim, Matches};
use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::rewriting::{Work, say};
use crate::cli::settings::Rewriting;
use crate::cli::ui::Ui;
use crate::report::cutting::{CuttingReport, ItemRow, TargetOutcome, TargetRow};
use crate::report::rewritten::BeforeAfter;
use ctxc_core::apply::{Calls, cut_inputs, cut_named, find_named, read_calls};
use ctxc_core::apply::{CutOutcome, Instead, Item, Named, Rewrite, Shelf, Text, ThinkingReach};
use ctxc_core::plan::{Place, Protected, Roles, Target};

/// What to cut, and where the result goes.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    pub(crate) action: Action,
    pub(crate) aims: Vec<Aim>,
    pub(crate) roles: Roles,
    pub(crate) matches: Matches,
    pub(crate) inputs: Inputs,
    pub(crate) unmatched: Unmatched,
}

/// What becomes of targets of which none matches anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmatched {
    /// They are an error (W-13).
    Refuse,
    /// They are reported: an agent goes on from there.
    Report,
}

impl Unmatched {
    /// Refuses `aims` where none of them matches anything.
    pub(super) fn check(self, aims: &[Aim], mut matched: impl Iterator<Item = bool>) -> Result<(), CommandError> {
        if self == Self::Report || aims.is_empty() || matched.any(|is_matched| is_matched) {
            return Ok(());
        }
        let typed: Vec<String> = aims.iter().map(|aim| format!("`{}`", aim.typed)).collect();
        Err(CommandError::from(anyhow!("nothing matches {}", typed.join(", ")))
            .hint("`ctxc refs --messages` lists handles and patterns"))
    }
}

/// What becomes of the long parameters of calls whose results go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// They stay.
    Leave,
    /// They are shortened.
    Shorten,
}

/// What becomes of what is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It goes, and a placeholder says what was there.
    Discard,
    /// A summary takes its place.
    Distill,
}

impl Action {
    const fn verb(self) -> &'static str {
        match self {
            Self::Discard => "discard",
            Self::Distill => "distill",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Discard => "discarded",
            Self::Distill => "distilled",
        }
    }
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let report = cut(settings, Work::open(&settings.rewriting, ui)?)?;
    say(&settings.rewriting, &report.rewritten, &report, &report, ui)?;
    Ok(Completion::Full)
}

/// Cuts what is named of the session in `work`, and writes the result.
pub(crate) fn cut(settings: &Settings, mut work: Work<'_>) -> Result<CuttingReport, CommandError> {
    let Settings { rewriting, action, aims, roles, matches, inputs, unmatched } = settings;
    let reading = &work.reading;
    let (calls, items) = find(*action, aims, reading, *roles, *matches)?;
    unmatched.check(aims, items.iter().map(|items| !items.is_empty()))?;
    let cuts = cuts(aims, &items, &rewriting.shelf);
    let mut rewrite = Rewrite::default();
    let outcomes = cut_named(&reading.file, &reading.index, &calls, &cuts, action.verb(), &mut rewrite)
        .with_context(|| format!("read {}", reading.name))?;
    let shortened = match inputs {
        Inputs::Leave => Vec::new(),
        Inputs::Shorten => {
            let cut = outcomes.iter().filter(|(_, outcome)| is_cut(outcome));
            let named = cut.filter_map(|(item, _)| call_of(*item, &calls)).collect();
            cut_inputs(&reading.file, &reading.index, &named, &rewriting.shelf, &mut rewrite)
                .with_context(|| format!("read {}", reading.name))?
        }
    };
    let n_results = outcomes.iter().filter(|(item, outcome)| is_result(item) && is_cut(outcome)).count() as u64;
    let rows = rows(aims, &items, outcomes, &calls);
    let mut report = CuttingReport::new(work.rewritten(action.verb()), action.done(), rows, n_results);
    report.add_inputs(&shortened);
    let unchanged = report.why_unchanged();
    work.finish(rewrite, ThinkingReach::BehindChange, unchanged, &mut report.rewritten)?;
    Ok(report)
}

/// What each of `aims` names in `reading`, with the calls there.
///
/// # Errors
/// When the session cannot be read, or an aim does not tell which of several it means.
pub(crate) fn find(
    action: Action,
    aims: &[Aim],
    reading: &Reading,
    roles: Roles,
    matches: Matches,
) -> Result<(Calls, Vec<Vec<Item>>), CommandError> {
    let calls = calls_for(aims.iter().map(|aim| &aim.target), reading)?;
    let targets: Vec<&Target> = aims.iter().map(|aim| &aim.target).collect();
    let named =
        find_named(reading.transcript(), &calls, &targets, roles).with_context(|| format!("read {}", reading.name))?;
    let items = items(action, aims, named, &calls, matches)?;
    refuse_two_summaries(aims, &items)?;
    Ok((calls, items))
}

/// The `items` that `aims` name, each with what takes its place.
pub(crate) fn cuts<'a>(aims: &'a [Aim], items: &[Vec<Item>], shelf: &'a Shelf) -> Vec<(Item, Instead<'a>)> {
    let of_one = |(aim, items): (&'a Aim, &Vec<Item>)| {
        let instead = aim.summary.as_deref().map_or(Instead::Placeholder(shelf), Instead::Summary);
        items.iter().map(|item| (*item, instead)).collect::<Vec<_>>()
    };
    aims.iter().zip(items).flat_map(of_one).collect()
}

/// The place and the handle of the call whose result `item` is.
fn call_of(item: Item, calls: &Calls) -> Option<(Place, String)> {
    let Item::Result(call_idx) = item else { return None };
    Some((calls.calls.get(call_idx)?.call, calls.handles.get(call_idx)?.to_string()))
}

/// The calls of the session, where any of `targets` is a handle.
pub(super) fn calls_for<'a>(
    targets: impl IntoIterator<Item = &'a Target>,
    reading: &Reading,
) -> Result<Calls, CommandError> {
    if !targets.into_iter().any(|target| matches!(target, Target::Call(_))) {
        return Ok(Calls::default());
    }
    let calls = read_calls(reading.transcript(), &Protected::default());
    Ok(calls.with_context(|| format!("read {}", reading.name))?)
}

/// What each target names. One that does not tell which of several it means is refused.
fn items(
    action: Action,
    aims: &[Aim],
    named: Vec<Named>,
    calls: &Calls,
    matches: Matches,
) -> Result<Vec<Vec<Item>>, CommandError> {
    let item = |text: &Text| Item::Text(text.line);
    let refused = |typed: &str, n_fitting: usize, what: &str| {
        anyhow!("cannot {} `{typed}`: it matches {n_fitting} {what}, nothing was changed", action.verb())
    };
    let of_one = |(aim, named): (&Aim, Named)| match named {
        Named::Nothing => Ok(Vec::new()),
        Named::Call(call_idx) => Ok(vec![Item::Result(call_idx)]),
        Named::Message(text) => Ok(vec![item(&text)]),
        Named::Messages(texts) if matches == Matches::All => Ok(texts.iter().map(item).collect()),
        Named::Messages(texts) => {
            let rows = texts.iter().map(|text| format!("line {}: {}", text.line.number(), text.start));
            Err(CommandError::from(refused(&aim.typed, texts.len(), "messages"))
                .hint(list("give more of the text of one of these, or --all-matches for all of them", rows)))
        }
        Named::Calls(call_idxs) => {
            let rows = call_idxs.iter().filter_map(|&at| {
                Some(format!("{}, line {}", calls.handles.get(at)?, calls.calls.get(at)?.call.line.number()))
            });
            Err(CommandError::from(refused(&aim.typed, call_idxs.len(), "tool calls"))
                .hint(list("give all digits of one of these", rows)))
        }
    };
    aims.iter().zip(named).map(of_one).collect()
}

/// How many rows a hint lists.
const N_LISTED: usize = 20;

/// `head`, and below it the rows, the first few of them.
pub(super) fn list(head: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = rows.collect();
    let more = rows.len().checked_sub(N_LISTED).filter(|n| *n > 0).map(|n| format!("and {n} more"));
    let shown = rows.into_iter().take(N_LISTED).chain(more);
    shown.fold(format!("{head}:"), |list, row| list + "\n  " + &row)
}

/// Refuses two different summaries for one thing.
fn refuse_two_summaries(aims: &[Aim], items: &[Vec<Item>]) -> Result<(), CommandError> {
    let mut summaries: HashMap<Item, &Aim> = HashMap::new();
    for (aim, items) in aims.iter().zip(items) {
        for item in items {
            let first = summaries.entry(*item).or_insert(aim);
            if first.summary != aim.summary {
                return Err(CommandError::usage(anyhow!(
                    "`{}` and `{}` name the same item with different summaries",
                    aim.typed,
                    first.typed
                )));
            }
        }
    }
    Ok(())
}

fn is_result(item: &Item) -> bool {
    matches!(item, Item::Result(_))
}

fn is_cut(outcome: &CutOutcome) -> bool {
    matches!(outcome, CutOutcome::Cut { .. })
}

/// A row for each target. What two targets name stands in the row of the first.
fn rows(aims: &[Aim], items: &[Vec<Item>], mut outcomes: HashMap<Item, CutOutcome>, calls: &Calls) -> Vec<TargetRow> {
    let row = |(aim, items): (&Aim, &Vec<Item>)| {
        let mut rows = Vec::new();
        let mut outcome = if items.is_empty() { TargetOutcome::NoMatch } else { TargetOutcome::NamedTwice };
        let mut tokens_saved = 0;
        for item in items {
            match outcomes.remove(item) {
                Some(CutOutcome::Cut { cut, what }) => {
                    tokens_saved += cut.saved();
                    let tokens = BeforeAfter { before: cut.before, after: cut.after };
                    rows.push(ItemRow { name: cut.name, what, line: line_of(*item, calls), tokens });
                    outcome = TargetOutcome::Cut;
                }
                Some(CutOutcome::AlreadyCut) if rows.is_empty() => outcome = TargetOutcome::AlreadyCut,
                Some(CutOutcome::Unanswered) if rows.is_empty() => outcome = TargetOutcome::Unanswered,
                Some(CutOutcome::AlreadyCut | CutOutcome::Unanswered) | None => {}
            }
        }
        TargetRow { target: aim.typed.clone(), outcome, items: rows, tokens_saved }
    };
    aims.iter().zip(items).map(row).collect()
}

/// The line of an item, from 1.
fn line_of(item: Item, calls: &Calls) -> u32 {
    match item {
        Item::Text(line) => line.number(),
        Item::Result(call_idx) => {
            let place = calls.calls.get(call_idx).and_then(|call| call.result);
            place.map_or(0, |place| place.line.number())
        }
    }
}
