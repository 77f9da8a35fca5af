//! Utterances into a buffer, and what they evict into the summary.

use jiff::Timestamp;

use super::run::Desk;
use crate::buffer::{self, Change, Due, Name, Settled, Spoken};
use crate::cli::error::{CommandError, Completion, Kind};
use crate::cli::folding;
use crate::cli::settings::{Keep, Strictness, Summarizing};
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::buffer::PushReport;
use crate::report::size::{counted, tokens};

/// How a buffer is filled.
#[derive(Debug)]
pub(crate) struct Filling {
    /// Which limits are set anew.
    pub(crate) change: Change,
    /// How what is evicted is summarised, but for the limit, which is the buffer's.
    pub(crate) how: Summarizing,
    pub(crate) strictness: Strictness,
}

/// Pushes `spoken`, has what is evicted summarised, and tells what came of it.
pub(super) fn fill(spoken: Vec<Spoken>, filling: Filling, mut desk: Desk<'_>) -> Result<Completion, CommandError> {
    let Filling { change, how, strictness } = filling;
    let pushed = buffer::push(&mut *desk.archive, desk.name, spoken, change, Timestamp::now())?;
    let engine_name = how.engine.name();
    let settled = settle(&mut desk, how);
    if let Err(error) = &settled
        && matches!(error.kind(), Kind::Interrupted | Kind::ClosedPipe)
    {
        let hint = "the push is in the buffer; the next push summarizes what it evicted";
        return settled.map(|_| Completion::Full).map_err(|error| error.hint(hint));
    }
    let outcome = settled.as_ref().map_err(CommandError::sentence);
    let report = PushReport::new(desk.name.to_string(), &pushed, outcome);
    tell(desk.reporting, desk.ui, &report, &report)?;
    desk.ui.status(report.summary(engine_name));
    warn(&report, settled.err(), desk.ui);
    let is_partial = report.has_failed() && strictness == Strictness::Strict;
    Ok(if is_partial { Completion::Partial } else { Completion::Full })
}

/// Has what waits in the buffer summarised.
fn settle(desk: &mut Desk<'_>, mut how: Summarizing) -> Result<Settled, CommandError> {
    let keep = Keep::In(desk.url.to_owned());
    let (name, ui) = (desk.name, desk.ui);
    buffer::settle(&mut *desk.archive, name, Timestamp::now, |due| {
        how.limit = due.limit;
        summarise(due, &how, &keep, name, ui)
    })
}

fn summarise(due: &Due, how: &Summarizing, keep: &Keep, name: &Name, ui: &Ui) -> Result<String, CommandError> {
    let folded = folding::fold(&due.chunks, &due.existing, how, keep, Some(&name.session()), ui)?;
    Ok(folded.summaries.into_iter().next_back().unwrap_or_default())
}

/// Says what is not as wanted: an utterance over the limit (H-06), and what could not be summarised.
fn warn(report: &PushReport, error: Option<CommandError>, ui: &Ui) {
    if let Some((held, most)) = report.holds().over() {
        ui.warning(format_args!(
            "the newest utterance has {}, more than the {} that the buffer is to hold; it stays until the next one comes",
            tokens(held),
            tokens(most),
        ));
    }
    let Some(error) = error else { return };
    let waiting = report.holds().waiting();
    let were = if waiting == 1 { "was" } else { "were" };
    ui.warning(format_args!(
        "{} evicted from the buffer {were} not summarized: {}",
        counted(waiting, "utterance"),
        error.sentence(),
    ));
    error.hints().iter().for_each(|hint| ui.hint(hint));
    ui.hint("they are in the archive; the next push retries");
}
