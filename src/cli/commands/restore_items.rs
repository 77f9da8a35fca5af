//! `ctxc restore SESSION TARGET...`: single items back, whatever was cut since.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Seek;

use anyhow::{Context, anyhow};

use super::cutting::list;
use super::restore::Settings;
use super::restore_whole::taken_back;
use crate::apply::{ApplyError, NewSession, OpenCut, Provenance, Recalled, Returned, Rewrite, Standing, Stock};
use crate::apply::{
    ThinkingReach, absent, give_back, is_whole, open_cuts, provenance, recall, undo, unnamed_file, way_to_root,
};
use crate::archive::{Archive, Cut};
use crate::cli::args::{Aim, Matches};
use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::rewriting::{Work, say};
use crate::cli::settings::{Mode, Output};
use crate::cli::stored;
use crate::cli::ui::Ui;
use crate::plan::Target;
use crate::report::restored::{ItemOutcome, RestoredItem, RestoredOutcome, RestoredReport, RestoredRow};
use crate::report::rewritten::BeforeAfter;
use crate::transcript::{IdHash, Totals};

pub(super) fn run(settings: &Settings, aims: &[Aim], ui: &Ui) -> Result<Completion, CommandError> {
    let report = restore(settings, aims, Work::open(&settings.rewriting, ui)?, ui)?;
    say(&settings.rewriting, &report.rewritten, &report, &report, ui)?;
    Ok(if report.has_failed() { Completion::Errors } else { Completion::Full })
}

/// Brings back what `aims` name of the session in `work`, and writes the result.
pub(crate) fn restore(
    settings: &Settings,
    aims: &[Aim],
    mut work: Work<'_>,
    ui: &Ui,
) -> Result<RestoredReport, CommandError> {
    let rewriting = &settings.rewriting;
    let archive = stored::open_existing(&settings.archive)?;
    let reading = &mut work.reading;
    let path = reading.path.clone();
    let sessions = stored::sessions(reading.session_file(), path.as_deref())?;
    let known = provenance(reading.session_file(), path.as_deref(), &sessions, &*archive)?;
    let Some(known) = known else {
        return Err(ApplyError::NoOperation(reading.path.clone().unwrap_or_else(|| reading.name.clone().into())).into());
    };
    if known.standing == Standing::Changed {
        ui.warning(format_args!(
            "{} was changed since ctxc wrote it: only what is as it was left then can be brought back",
            reading.name
        ));
    }
    let open = open_cuts(&known.lineage);
    let targets: Vec<&Target> = aims.iter().map(|aim| &aim.target).collect();
    let stock = Stock { file: &reading.file, index: &reading.index, chain: &reading.chain, open: &open };
    let recalled = recall(stock, &targets, settings.roles, &*archive)?;
    let unknown: Vec<&Target> =
        targets.iter().zip(&recalled).filter(|(_, it)| **it == Recalled::Nothing).map(|(target, _)| *target).collect();
    let mut gone = absent(&unknown, settings.roles, &reading.index, &known.lineage, &*archive)?.into_iter();
    let gone: Vec<Option<OpenCut>> =
        recalled.iter().map(|it| if *it == Recalled::Nothing { gone.next().flatten() } else { None }).collect();
    let places = places(aims, recalled, &open, settings.matches)?;
    let wanted: BTreeSet<usize> = places.iter().flatten().flatten().copied().collect();
    let cuts: Vec<OpenCut> = wanted.iter().filter_map(|at| open.get(*at).cloned()).collect();
    let mut rewrite = Rewrite::default();
    let returned = give_back(&reading.file, &reading.index, &known.lineage, &*archive, &cuts, &mut rewrite)?;
    let is_all = cuts.len() == open.len() && returned.iter().all(|it| matches!(it, Returned::Restored(_)));
    let mut rows = rows(aims, &places, &open, &wanted, &returned);
    for (row, cut) in rows.iter_mut().zip(&gone) {
        let Some(cut) = cut else { continue };
        row.outcome = RestoredOutcome::Failed;
        row.items.push(item(cut, &Returned::Gone(Some(cut.last.clone()))));
    }
    let mut report = RestoredReport::new(work.rewritten("restore"), rows);
    // What was added to a session since is no part of what it was.
    let is_settled = work.reading.is_settled();
    if is_all && !cuts.is_empty() && known.standing != Standing::Changed && !is_settled {
        let whole = as_it_was(&mut work.reading, &known, &rewrite, &*archive, &rewriting.output)?;
        if let Some(whole) = whole {
            rewrite = whole;
            report.is_source = true;
        }
    }
    drop(archive);
    let unchanged = report.why_unchanged();
    work.finish(rewrite, ThinkingReach::BehindChange, unchanged, &mut report.rewritten)?;
    if rewriting.mode == Mode::Show && report.is_source {
        let after = Totals::of(&work.reading.index, &work.reading.chain);
        report.rewritten.set_totals(&work.calibration, after);
    }
    Ok(report)
}

/// The cuts that each target names; `None` where what it names is not cut. One that does not tell which of several it
/// means is refused.
fn places(
    aims: &[Aim],
    recalled: Vec<Recalled>,
    open: &[OpenCut],
    matches: Matches,
) -> Result<Vec<Option<Vec<usize>>>, CommandError> {
    let of_one = |(aim, recalled): (&Aim, Recalled)| match recalled {
        Recalled::Nothing => Ok(Some(Vec::new())),
        Recalled::NotCut => Ok(None),
        Recalled::Cuts(places) => Ok(Some(places)),
        Recalled::Several(places) => {
            let is_message = matches!(aim.target, Target::Message(_));
            if is_message && matches == Matches::All {
                return Ok(Some(places));
            }
            let (what, hint) = if is_message {
                ("messages", "give more of the text of one of these, or --all-matches for all of them")
            } else {
                ("tool calls", "give all digits of one of these")
            };
            let n_fitting = places.len();
            let rows = places.iter().filter_map(|at| open.get(*at)).map(|cut| cut.name.clone());
            Err(CommandError::from(anyhow!(
                "restore `{}`: it fits {n_fitting} {what}, and nothing was changed",
                aim.typed
            ))
            .hint(list(hint, rows)))
        }
    };
    aims.iter().zip(recalled).map(of_one).collect()
}

/// A row for each target. What two targets name stands in the row of the first.
fn rows(
    aims: &[Aim],
    places: &[Option<Vec<usize>>],
    open: &[OpenCut],
    wanted: &BTreeSet<usize>,
    returned: &[Returned],
) -> Vec<RestoredRow> {
    let mut by_place: BTreeMap<usize, &Returned> = wanted.iter().copied().zip(returned).collect();
    let row = |(aim, places): (&Aim, &Option<Vec<usize>>)| {
        let Some(places) = places else {
            return RestoredRow { target: aim.typed.clone(), outcome: RestoredOutcome::NotCut, items: Vec::new() };
        };
        let items: Vec<RestoredItem> =
            places.iter().filter_map(|at| Some(item(open.get(*at)?, by_place.remove(at)?))).collect();
        let outcome = if items.iter().any(|item| item.outcome == ItemOutcome::Restored) {
            RestoredOutcome::Restored
        } else if !items.is_empty() {
            RestoredOutcome::Failed
        } else if places.is_empty() {
            RestoredOutcome::NoMatch
        } else {
            RestoredOutcome::NamedTwice
        };
        RestoredRow { target: aim.typed.clone(), outcome, items }
    };
    aims.iter().zip(places).map(row).collect()
}

fn item(cut: &OpenCut, returned: &Returned) -> RestoredItem {
    let (outcome, tokens) = match returned {
        Returned::Restored(Cut { before, after, .. }) => {
            (ItemOutcome::Restored, Some(BeforeAfter { before: *before, after: *after }))
        }
        Returned::Gone(by) => (ItemOutcome::Gone { by: by.clone() }, None),
        Returned::Lost => (ItemOutcome::Lost, None),
        Returned::Changed => (ItemOutcome::Changed, None),
    };
    let (name, rule, operation) = (cut.name.clone(), cut.rule.clone(), cut.last.clone());
    RestoredItem { name, rule, operation, outcome, tokens }
}

/// What makes the transcript what ctxc saw first, where `rewrite`, which gives everything back, does so but for
/// thinking: that transcript itself takes its place as a draft then.
fn as_it_was(
    reading: &mut Reading,
    known: &Provenance,
    rewrite: &Rewrite,
    archive: &dyn Archive,
    output: &Output,
) -> Result<Option<Rewrite>, CommandError> {
    let way = way_to_root(&mut reading.file, &known.lineage, archive)?;
    if way.is_empty() {
        return Ok(None);
    }
    let mut draft = unnamed_file()?;
    undo(&mut reading.file, way, archive, &mut draft)?;
    if !is_whole(&reading.file, &reading.index, rewrite, &draft)? {
        return Ok(None);
    }
    // The file stays the session that it is.
    let has_moved = way.iter().any(|operation| !operation.session_ids.is_empty());
    let id = if has_moved { stored::last_session(&mut reading.file)? } else { None };
    let id = id.filter(|_| !matches!(output, Output::NewSession(_)));
    draft.rewind()?;
    let cuts = taken_back(&known.lineage, way);
    reading.draft(draft).with_context(|| format!("read what {} was", reading.name))?;
    let mut whole = Rewrite { session: id.map(|id| NewSession { id }), ..Rewrite::default() };
    let lines = reading.index.lines_of(cuts.iter().map(|cut| IdHash::of(cut.uuid.as_bytes())));
    for cut in cuts {
        let line = lines.get(&IdHash::of(cut.uuid.as_bytes())).copied().unwrap_or_default();
        // What it gives back is in the figures of the transcript already.
        whole.cuts.entry(line).or_default().push(cut);
    }
    Ok(Some(whole))
}
