//! `ctxc compress`: shorten the messages of whole bands of turns.

use crate::apply::{Rewrite, Tasks, ThinkingReach};
use crate::cli::args::{EngineName, Include, Only};
use crate::cli::compressing::{shorten, tasks};
use crate::cli::error::{CommandError, Completion};
use crate::cli::rewriting::Work;
use crate::cli::settings::{Mode, Rewriting, Strictness};
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::engine::{Engine, Extract};
use crate::plan::{self, Bands, Roles, Selection};
use crate::report::compress::{CompressReport, Plan};
use crate::report::rewritten::BeforeAfter;
use crate::text::Tokens;
use crate::transcript::{Totals, turns};

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
    pub(crate) engine: EngineName,
    pub(crate) strictness: Strictness,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let selection = settings.selection()?;
    let mut work = Work::open(&settings.rewriting, ui)?;
    let reading = &work.reading;
    let turns = turns(&reading.index, &reading.chain);
    let mut rewrite = Rewrite::default();
    let Tasks { tasks, n_skipped } = tasks(&work, &turns, &selection, settings.min_tokens, &rewrite)?;
    let EngineName::Extract = settings.engine;
    let engine = Extract;
    let mut report = CompressReport::new(work.rewritten("compress"), engine.name(), &selection.bands, turns.len());
    warn_of_newest(&selection, turns.len(), ui);

    if settings.rewriting.mode == Mode::Show {
        report.set_tasks(&reading.index, &tasks, n_skipped, None);
        let BeforeAfter { before, after } = report.messages.tokens;
        let saved = before.saturating_sub(after);
        let messages = work.totals.messages.saturating_sub(saved);
        report.rewritten.set_totals(&work.calibration, Totals { messages, ..work.totals });
        let plan = Plan { report: &report, bands: &selection.bands, look: ui.look() };
        tell(&settings.rewriting.reporting, ui, &report, plan)?;
        return Ok(Completion::Full);
    }
    if !tasks.is_empty() {
        work.probe()?;
        ui.status("engine: extract, which is built in and works offline");
    }
    let outcomes = shorten(&work, &tasks, &engine, &mut rewrite)?;
    report.set_tasks(&work.reading.index, &tasks, n_skipped, Some(&outcomes));
    let unchanged = unchanged(&selection.bands, turns.len(), tasks.len());
    work.finish(rewrite, ThinkingReach::BehindChange, unchanged, &mut report.rewritten)?;
    work.say(&report.rewritten, &report, &report)?;
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
        ui.warning(format_args!("the newest turn lies in the band {band}"));
        ui.hint("--protect-turns 1 leaves it alone");
    }
}

/// Why nothing changes, when nothing does.
fn unchanged(bands: &Bands, n_turns: usize, n_tasks: usize) -> &'static str {
    if bands.is_empty() {
        "no bands were given"
    } else if n_turns == 0 {
        "the transcript has no turns"
    } else if n_tasks == 0 {
        "no message in the bands is long enough"
    } else {
        "no message has a shorter text"
    }
}
