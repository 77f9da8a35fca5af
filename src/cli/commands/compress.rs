//! `ctxc compress`: shorten the messages of whole bands of turns.

use std::ops::ControlFlow;

use anyhow::{Context, anyhow};

use crate::apply::{Intent, Rewrite, Tasks, ThinkingPolicy, add_edits, follow_up, read_tasks};
use crate::cli::args::{EngineName, Estimate, Include, Only};
use crate::cli::error::{CommandError, Completion};
use crate::cli::landing::{Fresh, Landing, fresh, into_session, probe, say_resume};
use crate::cli::progress::Progress;
use crate::cli::reading::Reading;
use crate::cli::settings::{Form, Keep, Mode, Output, Reporting, Strictness, Thinking};
use crate::cli::tell::{self, report_file, tell};
use crate::cli::ui::Ui;
use crate::engine::{Engine, Extract};
use crate::plan::{self, Bands, Roles, Selection, candidates};
use crate::report::compress::{BeforeAfter, CompressReport, Plan};
use crate::run::{Event, Outcome, run as run_tasks};
use crate::text::{Stopped, Tokens};
use crate::transcript::session::Found;
use crate::transcript::{Calibration, ChainEnd, Flags, LineNo, Totals, turns};

/// What to compress, how, and where the result goes.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The bands as they were typed; nothing is compressed without one.
    pub(crate) bands: String,
    pub(crate) only: Option<Only>,
    pub(crate) include: Vec<Include>,
    pub(crate) min_tokens: Tokens,
    pub(crate) protect_turns: u64,
    pub(crate) engine: EngineName,
    /// The estimate that was asked for; without one it follows the purpose.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) thinking: Thinking,
    pub(crate) output: Output,
    pub(crate) keep: Keep,
    pub(crate) mode: Mode,
    pub(crate) strictness: Strictness,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let selection = settings.selection()?;
    let output = if let Output::File(path, _) = &settings.output { Some(path.as_path()) } else { None };
    tell::probe(&settings.reporting, &[settings.source.path(), output].into_iter().flatten().collect::<Vec<_>>())?;
    let mut reading = Reading::of(&settings.source, ui)?;
    refuse_unless_transcript(&reading)?;
    warn_of_chain(&reading, ui);
    let turns = turns(&reading.index, &reading.chain);
    let calibration = Calibration::learn(&reading.index, &reading.chain);
    let totals = Totals::of(&reading.index, &reading.chain);
    let candidates = candidates(&reading.index, &reading.chain, &turns, &selection);
    let Tasks { tasks, n_skipped } = read_tasks(&reading.file, &reading.index, &candidates, settings.min_tokens)
        .with_context(|| format!("read {}", reading.name))?;
    let EngineName::Extract = settings.engine;
    let engine = Extract;
    let mut report = CompressReport::new(reading.name.clone(), engine.name(), &selection.bands, turns.len(), totals);
    report.shows_calibrated = settings.estimate != Some(Estimate::Chars4);
    report.set_totals(&calibration, totals);
    warn_of_newest(&selection, turns.len(), ui);

    if settings.mode == Mode::Show {
        report.dry_run = true;
        report.set_tasks(&reading.index, &tasks, n_skipped, None);
        let BeforeAfter { before, after } = report.messages.tokens;
        let saved = before.saturating_sub(after);
        report.set_totals(&calibration, Totals { messages: totals.messages.saturating_sub(saved), ..totals });
        tell(&settings.reporting, ui, &report, Plan { report: &report, bands: &selection.bands, look: ui.look() })?;
        return Ok(Completion::Full);
    }
    if !tasks.is_empty() {
        probe(&settings.output, &reading)?;
        ui.status("engine: extract, which is built in and works offline");
    }
    let outcomes = run_with_progress(&tasks, &engine, ui)?;
    report.set_tasks(&reading.index, &tasks, n_skipped, Some(&outcomes));
    let mut rewrite = Rewrite::default();
    add_edits(&reading.file, &reading.index, &tasks, &outcomes, &mut rewrite)
        .with_context(|| format!("read {}", reading.name))?;
    report.unchanged = unchanged(&selection.bands, turns.len(), tasks.len(), &rewrite);

    let fresh = fresh(&settings.output, reading.path.as_deref()).filter(|_| report.unchanged.is_none());
    if report.unchanged.is_none() {
        let saved = saved_by_line(&tasks, &outcomes);
        let intent = Intent { saved: &saved, thinking: settings.thinking.into() };
        let consequences = follow_up(&reading.file, &reading.index, &reading.chain, &calibration, intent, &mut rewrite)
            .with_context(|| format!("read {}", reading.name))?;
        report.set_consequences(&consequences);
        if settings.thinking == Thinking::RemoveAndCloseLoop && consequences.thinking.kept_in_open_loop > 0 {
            ui.warning(
                "the open tool loop keeps its thinking: its last call has no result, so that it cannot be ended",
            );
        }
    }
    if let Some(fresh) = &fresh {
        into_session(fresh, &reading, &mut rewrite)?;
        report.session_id = Some(fresh.id.to_string());
    }
    // Without a place of its own a result that is the source is not written again.
    let is_written = report.unchanged.is_none() || matches!(settings.output, Output::File(..) | Output::StandardOutput);
    if is_written {
        let landing =
            Landing { verb: "compress", output: &settings.output, keep: &settings.keep, fresh: fresh.as_ref() };
        let done = landing.land(&mut reading, &rewrite, ui)?;
        let mut after = Totals::of(&reading.index, &reading.chain);
        rewrite.appended.iter().for_each(|line| after.add(line.as_bytes()));
        report.set_totals(&calibration, after);
        // A path is told as it was typed.
        let typed = if let Output::File(path, _) = &settings.output { Some(path) } else { done.path.as_ref() };
        report.output = typed.map(|path| path.display().to_string());
        report.bytes = Some(BeforeAfter { before: done.bytes_before, after: done.bytes_after });
        report.operation = done.operation;
        report.backup = done.backup.map(|path| path.display().to_string());
    }
    say(settings, &report, fresh.as_ref(), ui)?;
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

impl From<Thinking> for ThinkingPolicy {
    fn from(thinking: Thinking) -> Self {
        match thinking {
            Thinking::Remove => Self::Remove,
            Thinking::RemoveAndCloseLoop => Self::CloseLoop,
            Thinking::Keep => Self::Keep,
        }
    }
}

/// A file of which no line is an entry is no transcript at all.
fn refuse_unless_transcript(reading: &Reading) -> Result<(), CommandError> {
    let has = |flag| reading.index.records.iter().any(|record| record.flags.any(flag));
    if has(Flags::MALFORMED) && !has(Flags::ENTRY) {
        let n_lines = reading.index.records.len();
        return Err(CommandError::from(anyhow!(
            "read {} as a transcript: none of its {n_lines} lines is a JSON object",
            reading.name
        ))
        .hint("give a session of Claude Code, a .jsonl file of one JSON object a line"));
    }
    Ok(())
}

fn warn_of_chain(reading: &Reading, ui: &Ui) {
    let name = &reading.name;
    match reading.chain.end {
        ChainEnd::MissingParent(line) if line.0 > 0 => ui.warning(format_args!(
            "{name}:{}: the conversation starts here, for the parent of this entry is missing",
            line.number()
        )),
        ChainEnd::Cycle(line) => ui.warning(format_args!(
            "{name}:{}: the conversation starts here, for the parents lead in a circle",
            line.number()
        )),
        _ => {}
    }
    if let Some(line) = reading.chain.newest_elsewhere {
        ui.warning(format_args!(
            "{name}:{}: this message is the newest by its time, and is not on the live chain",
            line.number()
        ));
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

fn run_with_progress(tasks: &[plan::Task], engine: &dyn Engine, ui: &Ui) -> Result<Vec<Outcome>, CommandError> {
    let mut progress = Progress::start(ui, "compressing", tasks.iter().map(|task| task.tokens.0).sum());
    let mut flow = Ok(());
    let outcomes = run_tasks(tasks, engine, |Event::Finished { task, .. }| {
        progress.advance(task.tokens.0);
        flow = Stopped::check(ui.stop());
        if flow.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    flow?;
    Ok(outcomes)
}

/// What the outcomes save, by line, in `chars4` tokens.
fn saved_by_line(tasks: &[plan::Task], outcomes: &[Outcome]) -> Vec<(LineNo, Tokens)> {
    let saved = tasks.iter().zip(outcomes).filter_map(|(task, outcome)| match outcome {
        Outcome::Compressed { tokens, .. } => Some((task.line, task.tokens.saturating_sub(*tokens))),
        Outcome::Kept(_) | Outcome::Failed(_) => None,
    });
    saved.collect()
}

/// Why nothing changes, when nothing does.
fn unchanged(bands: &Bands, n_turns: usize, n_tasks: usize, rewrite: &Rewrite) -> Option<&'static str> {
    if bands.is_empty() {
        Some("no bands were given")
    } else if n_turns == 0 {
        Some("the transcript has no turns")
    } else if n_tasks == 0 {
        Some("no message in the bands is long enough")
    } else if rewrite.is_nothing() {
        Some("no message has a shorter text")
    } else {
        None
    }
}

fn say(settings: &Settings, report: &CompressReport, fresh: Option<&Fresh>, ui: &Ui) -> Result<(), CommandError> {
    let path = match (&report.output, &report.unchanged) {
        (Some(path), _) => Some(path),
        (None, Some(_)) if settings.output != Output::StandardOutput => Some(&report.source),
        (None, _) => None,
    };
    match (settings.reporting.form, path) {
        (Form::Json, _) => ui.data_line(serde_json::to_string(report)?)?,
        (Form::Text, Some(path)) => ui.data_line(path)?,
        (Form::Text, None) => {}
    }
    ui.status(report);
    if let Some(fresh) = fresh {
        say_resume(fresh, ui);
    }
    // What is done is done, and has been told.
    if let Err(error) = report_file(&settings.reporting, report) {
        ui.warning(format_args!("the report is not written: cannot {}", error.text()));
    }
    Ok(())
}
