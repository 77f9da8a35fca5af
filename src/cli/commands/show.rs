//! `ctxc show`: show messages as people read them.

use std::ops::ControlFlow;

use anyhow::{Context, anyhow};

use crate::cli::error::{CommandError, Completion};
use crate::cli::reading::Reading;
use crate::cli::settings::Reporting;
use crate::cli::tell::{self, tell_quoted};
use crate::cli::ui::Ui;
use crate::report::show::{Length, Message, Show};
use ctxc_core::apply::{Order, Shown, Speaker, each_shown, shown_in};
use ctxc_transcript::session::Found;
use ctxc_transcript::text::{Stopped, on_one_line};
use ctxc_transcript::{Calibration, LineNo, turn_at, turns};

/// What to show.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The newest so many of what fits; all of it without a number.
    pub(crate) last: Option<usize>,
    pub(crate) speaker: Option<Speaker>,
    /// Words as they were typed.
    pub(crate) search: Option<String>,
    /// A turn, from 0.
    pub(crate) turn: Option<usize>,
    /// The entry on a line of the file, active or not.
    pub(crate) line: Option<LineNo>,
    pub(crate) length: Length,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &settings.source.path().into_iter().collect::<Vec<_>>())?;
    let reading = Reading::of(&settings.source, ui)?;
    let n_turns = turns(&reading.index, &reading.chain).len();
    if let Some(turn) = settings.turn.filter(|turn| *turn >= n_turns) {
        return Err(CommandError::usage(anyhow!("no turn {turn} in {}: it has {n_turns}", reading.name))
            .hint("turns count from 0; run `ctxc stats` to list them"));
    }
    if let Some(line) = settings.line {
        return show_line(settings, reading, line, ui);
    }
    let wanted = settings.search.as_deref().map(folded);
    let fits = |shown: &Shown| {
        settings.speaker.is_none_or(|speaker| speaker == shown.speaker)
            && settings.turn.is_none_or(|turn| shown.turn.is_some_and(|it| it.0 == turn))
            && wanted.as_ref().is_none_or(|wanted| folded(&shown.text).contains(wanted))
    };
    let mut messages = Vec::new();
    let mut is_stopped = false;
    each_shown(reading.transcript(), Order::Backward, |shown| {
        is_stopped = Stopped::check(ui.stop()).is_err();
        if is_stopped || settings.last.is_some_and(|last| messages.len() >= last) {
            return ControlFlow::Break(());
        }
        if fits(&shown) {
            messages.push(Message::new(shown));
        }
        ControlFlow::Continue(())
    })
    .with_context(|| format!("read {}", reading.name))?;
    if is_stopped {
        return Err(CommandError::interrupted());
    }
    messages.reverse();
    let measure = Calibration::learn(&reading.index, &reading.chain);
    let show = Show::new(reading.session(), messages, settings.length, measure);
    tell_quoted(&settings.reporting, ui, &show, show.text(ui.look()))?;
    if show.messages.is_empty() {
        ui.status(format_args!("no matching messages in {}", reading.name));
    }
    Ok(Completion::Full)
}

fn show_line(settings: &Settings, reading: Reading, line: LineNo, ui: &Ui) -> Result<Completion, CommandError> {
    let session = reading.session();
    let Reading { file, index, chain, name, .. } = reading;
    if line.0 >= index.n_lines() {
        return Err(CommandError::usage(anyhow!("no line {} in {name}: it has {}", line.number(), index.n_lines())));
    }
    let shown = shown_in(&file, &index, line).with_context(|| format!("read {name}"))?;
    let place = chain.lines.iter().position(|it| *it == line);
    let turn = place.and_then(|place| turn_at(&turns(&index, &chain), place));
    let messages = shown.into_iter().map(|shown| Message::new(Shown { turn, ..shown })).collect();
    let show = Show::new(session, messages, settings.length, Calibration::learn(&index, &chain));
    tell_quoted(&settings.reporting, ui, &show, show.text(ui.look()))?;
    if show.messages.is_empty() {
        ui.status(format_args!("line {} of {} has no text", line.number(), name));
    } else if place.is_none() {
        ui.status(format_args!("line {} is inactive: a resume does not send it", line.number()));
    }
    Ok(Completion::Full)
}

/// `text` as it is compared: in lower case, with single spaces.
fn folded(text: &str) -> String {
    on_one_line(&text.to_lowercase())
}
