//! `ctxc compress`: shorten the messages of whole bands of turns.

use crate::cli::args::{Include, Only};
use crate::cli::compressing::{Shortened, shorten, tasks};
use crate::cli::error::{CommandError, Completion};
use crate::cli::rewriting::Work;
use crate::cli::settings::{Detail, EngineChoice, Mode, Rewriting, Strictness};
use crate::cli::shrinking::expect;
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::compress::explain::Explained;
use crate::report::compress::{CompressReport, Messages, Plan};
use crate::report::facts::Lost;
use crate::report::look::Look;
use crate::report::rewritten::BeforeAfter;
use crate::report::size::count;
use ctxc_core::apply::{Rewrite, Tasks, ThinkingReach, tokens_before};
use ctxc_core::plan;
use ctxc_core::plan::{Bands, Roles, Selection};
use ctxc_engine::run::MinKept;
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{Totals, turns};

/// What to compress and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) rewriting: Rewriting,
    /// The bands as they were typed; nothing is compressed without one.
    pub(crate) bands: String,
    pub(crate) only: Option<Only>,
    pub(crate) include: Vec<Include>,
    pub(crate) min_tokens: Tokens,
    pub(crate) protect_turns: u64,
    pub(crate) engine: EngineChoice,
    pub(crate) detail: Detail,
    /// The share of its facts that a text has to keep.
    pub(crate) min_kept: Option<MinKept>,
    pub(crate) lost: Lost,
    pub(crate) strictness: Strictness,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let selection = settings.selection()?;
    let mut work = Work::open(&settings.rewriting, ui)?;
    let reading = &work.reading;
    let turns = turns(&reading.index, &reading.chain);
    let mut rewrite = Rewrite::default();
    let Tasks { tasks, n_skipped } = tasks(&work, &turns, &selection, settings.min_tokens, &rewrite)?;
    let engine = &settings.engine;
    let mut report = CompressReport::new(work.rewritten("compress"), engine.name(), &selection.bands, turns.len());
    report.lost = settings.lost;
    warn_of_newest(&selection, turns.len(), ui);

    if settings.rewriting.mode == Mode::Show {
        report.set_tasks(&reading.index, &tasks, n_skipped, None);
        report.set_calls(expect(&tasks, engine, &settings.rewriting.keep)?);
        let BeforeAfter { before, after } = report.messages.tokens;
        let saved = before.saturating_sub(after);
        let messages = work.totals.messages.saturating_sub(saved);
        let is_first = |line| tasks.first().is_some_and(|task| task.line == line);
        report.rewritten.set_unchanged(tokens_before(&reading.index, &reading.chain, is_first));
        report.rewritten.set_totals(&work.calibration, Totals { messages, ..work.totals });
        let plan = Plan { report: &report, bands: &selection.bands, look: ui.look() };
        tell(&settings.rewriting.reporting, ui, &report, plan)?;
        return Ok(Completion::Full);
    }
    if !tasks.is_empty() {
        work.probe()?;
        if matches!(engine, EngineChoice::Extract) {
            ui.status("engine    extract (built in, offline)");
        }
    }
    let Shortened { outcomes, calls } = shorten(&work, &tasks, engine, settings.min_kept, &mut rewrite)?;
    report.set_tasks(&work.reading.index, &tasks, n_skipped, Some(&outcomes));
    report.set_calls(calls);
    let unchanged = unchanged(&selection.bands, turns.len(), &report.messages, tasks.len());
    work.finish(rewrite, ThinkingReach::BehindChange, &unchanged, &mut report.rewritten)?;
    work.say(&report.rewritten, &report, &report)?;
    if settings.detail == Detail::EachTask {
        ui.status(Explained { report: &report, look: Look::PLAIN });
    }
    let is_partial = report.messages.kept + report.messages.failed > 0;
    Ok(if is_partial && settings.strictness == Strictness::Strict { Completion::Partial } else { Completion::Full })
}

impl Settings {
    fn selection(&self) -> Result<Selection, CommandError> {
        let bands: Bands = self.bands.parse().map_err(CommandError::usage)?;
        Ok(Selection {
            bands,
            roles: match self.only {
                None => Roles::Both,
                Some(Only::User) => Roles::User,
                Some(Only::Assistant) => Roles::Assistant,
            },
            include: if self.include.contains(&Include::ToolResults) {
                plan::Include::ToolResults
            } else {
                plan::Include::Messages
            },
            n_protected_turns: usize::try_from(self.protect_turns).unwrap_or(usize::MAX),
        })
    }
}

/// A newest turn in a band surprises in a short session (B-13).
fn warn_of_newest(selection: &Selection, n_turns: usize, ui: &Ui) {
    let newest = n_turns.checked_sub(1).and_then(|newest| selection.bands.of_turn(newest, n_turns));
    if let Some(band) = newest.filter(|_| selection.n_protected_turns == 0) {
        ui.warning(format_args!("the newest turn is in the band {band}"));
        ui.hint("use --protect-turns 1 to protect it");
    }
}

/// Why nothing changes, when nothing does.
fn unchanged(bands: &Bands, n_turns: usize, messages: &Messages, n_tasks: usize) -> String {
    if bands.is_empty() {
        "no bands were given".to_owned()
    } else if n_turns == 0 {
        "the transcript has no turns".to_owned()
    } else if n_tasks == 0 {
        "no message in the bands is long enough".to_owned()
    } else {
        let Messages { kept, failed, .. } = messages;
        format!("no shorter text was taken: {} kept, {} failed", count(*kept), count(*failed))
    }
}
