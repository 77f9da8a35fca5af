//! What all verbs that rewrite a session have in common: reading it, carrying the plan out, saying what was done.

use std::path::Path;

use anyhow::{Context, anyhow};
use serde::Serialize;

use super::args::Estimate;
use super::error::CommandError;
use super::landing::{Landing, fresh, into_session, probe, say_resume};
use super::reading::Reading;
use super::settings::{Form, Mode, Output, Rewriting};
use super::tell::{self, report_file};
use super::ui::Ui;
use crate::apply::{Rewrite, Thinking, ThinkingPolicy, ThinkingReach, follow_up};
use crate::report::rewritten::{BeforeAfter, Rewritten};
use crate::text::Tokens;
use crate::transcript::{Calibration, ChainEnd, Flags, Totals};

/// A session that is being rewritten.
pub(super) struct Work<'a> {
    pub(super) settings: &'a Rewriting,
    pub(super) ui: &'a Ui,
    pub(super) reading: Reading,
    /// How its tokens are held against a context window, as was asked for.
    pub(super) calibration: Calibration,
    pub(super) totals: Totals,
}

impl<'a> Work<'a> {
    /// Reads the session, and warns of what is odd about it.
    pub(super) fn open(settings: &'a Rewriting, ui: &'a Ui) -> Result<Self, CommandError> {
        let output = if let Output::File(path, _) = &settings.output { Some(path.as_path()) } else { None };
        let apart: Vec<&Path> = [settings.source.path(), output].into_iter().flatten().collect();
        tell::probe(&settings.reporting, &apart)?;
        Self::of(settings, Reading::of(&settings.source, ui)?, ui)
    }

    /// As [`Self::open`], of a session that has been read.
    pub(super) fn of(settings: &'a Rewriting, reading: Reading, ui: &'a Ui) -> Result<Self, CommandError> {
        refuse_unless_transcript(&reading)?;
        warn_of_chain(&reading, ui);
        let calibration = Calibration::learn(&reading.index, &reading.chain);
        let totals = Totals::of(&reading.index, &reading.chain);
        Ok(Self { settings, ui, reading, calibration, totals })
    }

    /// What is known before anything has been done.
    pub(super) fn rewritten(&self, verb: &'static str) -> Rewritten {
        let mut rewritten = Rewritten::new(verb, self.reading.name.clone(), &self.calibration, self.totals);
        rewritten.shows_calibrated = self.settings.estimate != Some(Estimate::Chars4);
        rewritten.dry_run = self.settings.mode == Mode::Show;
        rewritten
    }

    /// Refuses a place that nothing could be written to, before work that costs time.
    pub(super) fn probe(&self) -> Result<(), CommandError> {
        probe(&self.settings.output, &self.reading)
    }

    /// The size of the context if `rewrite` were carried out as it is by now, in the tokens that the user asked for.
    pub(super) fn size(&self, rewrite: &Rewrite, reach: ThinkingReach) -> Result<Tokens, CommandError> {
        let Self { settings, reading, .. } = self;
        let left = rewrite.left(&reading.index, &reading.chain);
        let calibration = self.estimate();
        let reach = self.reach(reach);
        // From nothing nothing follows, and what follows is found by reading the file again.
        if rewrite.is_nothing() && reach == ThinkingReach::BehindChange {
            return Ok(calibration.context(left.context()));
        }
        let thinking = Thinking { policy: settings.thinking, reach };
        let consequences =
            follow_up(&reading.file, &reading.index, &reading.chain, &calibration, thinking, &mut rewrite.clone())
                .with_context(|| format!("read {}", reading.name))?;
        Ok(calibration.context(consequences.expected(left).context()))
    }

    /// The size of the context by what `rewrite` itself takes out, whatever follows from it.
    pub(super) fn size_of_stages(&self, rewrite: &Rewrite) -> Tokens {
        self.estimate().context(rewrite.left(&self.reading.index, &self.reading.chain).context())
    }

    /// The size of the context at the end, as `rewritten` tells it.
    pub(super) fn size_after(&self, rewritten: &Rewritten) -> Tokens {
        match self.settings.estimate {
            Some(Estimate::Chars4) => rewritten.tokens.chars4.after.context(),
            Some(Estimate::Calibrated) | None => rewritten.tokens.calibrated.after,
        }
    }

    /// How far back thinking goes: what was written behind another beginning has none that could stay.
    fn reach(&self, reach: ThinkingReach) -> ThinkingReach {
        match (reach, self.reading.carried_from()) {
            (ThinkingReach::BehindChange, Some(line)) => ThinkingReach::BehindLine(line),
            (reach, _) => reach,
        }
    }

    /// How tokens are held against a target: calibrated unless something else was asked for.
    pub(super) fn estimate(&self) -> Calibration {
        match self.settings.estimate {
            Some(Estimate::Chars4) => Calibration::CHARS4,
            Some(Estimate::Calibrated) | None => self.calibration,
        }
    }

    /// Carries `rewrite` out with all that follows from it; of a dry run, only finds out what would follow. `unchanged`
    /// is the reason where nothing changes. Afterwards the index and the chain are those of the result.
    pub(super) fn finish(
        &mut self,
        mut rewrite: Rewrite,
        reach: ThinkingReach,
        unchanged: &str,
        rewritten: &mut Rewritten,
    ) -> Result<(), CommandError> {
        let is_settled = self.reading.is_settled();
        // The end that a session lacked is no reason to write it.
        if is_settled && rewrite.is_nothing() {
            rewritten.unchanged = Some(unchanged.to_owned());
            return Ok(());
        }
        let reach = self.reach(reach);
        let Self { settings, ui, reading, calibration, .. } = self;
        let thinking = Thinking { policy: settings.thinking, reach };
        let left = rewrite.left(&reading.index, &reading.chain);
        let consequences =
            follow_up(&reading.file, &reading.index, &reading.chain, calibration, thinking, &mut rewrite)
                .with_context(|| format!("read {}", reading.name))?;
        rewritten.set_consequences(&consequences);
        // Any other draft is a change by itself.
        let is_nothing = rewrite.is_nothing() && (reading.drafted.is_none() || is_settled);
        rewritten.unchanged = is_nothing.then(|| unchanged.to_owned());
        if settings.thinking == ThinkingPolicy::CloseLoop && consequences.thinking.kept_in_open_loop > 0 {
            ui.warning(
                "the open tool loop keeps its thinking: its last call has no result, so that it cannot be ended",
            );
        }
        if settings.mode == Mode::Show {
            rewritten.set_totals(calibration, consequences.expected(left));
            return Ok(());
        }
        // Without a place of its own a result that is the source is not written again.
        let is_written =
            rewritten.unchanged.is_none() || matches!(settings.output, Output::File(..) | Output::StandardOutput);
        if !is_written {
            return Ok(());
        }
        let fresh = fresh(&settings.output, reading.path.as_deref()).filter(|_| rewritten.unchanged.is_none());
        if let Some(fresh) = &fresh {
            into_session(rewritten.verb(), fresh, reading, &mut rewrite)?;
            rewritten.session_id = Some(fresh.id.to_string());
        }
        let landing =
            Landing { verb: rewritten.verb(), output: &settings.output, keep: &settings.keep, fresh: fresh.as_ref() };
        let done = landing.land(reading, &rewrite, ui)?;
        let mut after = Totals::of(&reading.index, &reading.chain);
        rewrite.appended.iter().for_each(|line| after.add(line.as_bytes()));
        rewritten.set_totals(calibration, after);
        // A path is told as it was typed.
        let typed = if let Output::File(path, _) = &settings.output { Some(path) } else { done.path.as_ref() };
        rewritten.output = typed.map(|path| path.display().to_string());
        rewritten.bytes = Some(BeforeAfter { before: done.bytes_before, after: done.bytes_after });
        // A draft with lines of its own is a change, whether or not an archive knows of it; so is what is done to one that was
        // only settled.
        let is_change = is_settled || !rewrite.added.is_empty();
        let is_copy = done.is_copy || done.operation.is_none();
        if reading.drafted.is_some() && is_copy && !is_change {
            rewritten.unchanged = Some(unchanged.to_owned());
        }
        rewritten.operation = done.operation;
        rewritten.backup = done.backup.map(|path| path.display().to_string());
        Ok(())
    }

    /// Says what was done: the path of the result as data, `text` beside it, and how to resume it.
    pub(super) fn say(
        &self,
        rewritten: &Rewritten,
        json: &impl Serialize,
        text: impl std::fmt::Display,
    ) -> Result<(), CommandError> {
        say(self.settings, rewritten, json, text, self.ui)
    }
}

/// Says what was done, or would be, to a session: its path as data, `text` beside it, and how to resume it.
pub(super) fn say(
    settings: &Rewriting,
    rewritten: &Rewritten,
    json: &impl Serialize,
    text: impl std::fmt::Display,
    ui: &Ui,
) -> Result<(), CommandError> {
    if rewritten.dry_run {
        return tell::tell(&settings.reporting, ui, json, format_args!("{}\n", text.to_string().trim_end()));
    }
    let path = match (&rewritten.output, &rewritten.unchanged) {
        (Some(path), _) => Some(path),
        (None, Some(_)) if settings.output != Output::StandardOutput => Some(&rewritten.source),
        (None, _) => None,
    };
    match (settings.reporting.form, path) {
        (Form::Json, _) => ui.data_line(serde_json::to_string(json)?)?,
        (Form::Text, Some(path)) => ui.data_line(path)?,
        (Form::Text, None) => {}
    }
    ui.status(text);
    if let (Some(id), Some(path)) = (&rewritten.session_id, path) {
        say_resume(id, Path::new(path), ui);
    }
    // What is done is done, and has been told.
    if let Err(error) = report_file(&settings.reporting, json) {
        ui.warning(format_args!("the report is not written: cannot {}", error.text()));
    }
    Ok(())
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
