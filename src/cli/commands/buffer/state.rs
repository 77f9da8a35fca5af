//! `ctxc buffer summary` and `ctxc buffer tokens`: show the summary, or how full the buffer is.

use super::run::Desk;
use crate::buffer::{self, State};
use crate::cli::error::{CommandError, Completion};
use crate::cli::tell::tell;
use crate::report::buffer::{FillReport, SummaryReport};
use crate::report::size::counted;

pub(super) fn summary(desk: &Desk<'_>) -> Result<Completion, CommandError> {
    let state = buffer::state(&*desk.archive, desk.name)?;
    let report = SummaryReport::new(desk.name.to_string(), &state);
    tell(desk.reporting, desk.ui, &report, &report)?;
    if report.is_empty() {
        desk.ui.status(format_args!(
            "the buffer {} in {} has no summary: nothing was evicted",
            desk.name,
            desk.place()
        ));
    } else {
        desk.ui.status(report.origin());
    }
    hint(&state, desk);
    Ok(Completion::Full)
}

pub(super) fn tokens(desk: &Desk<'_>) -> Result<Completion, CommandError> {
    let state = buffer::state(&*desk.archive, desk.name)?;
    let report = FillReport::new(desk.name.to_string(), &state);
    tell(desk.reporting, desk.ui, &report, &report)?;
    hint(&state, desk);
    Ok(Completion::Full)
}

/// Says that the summary lacks something.
fn hint(state: &State, desk: &Desk<'_>) {
    if state.n_waiting() > 0 {
        let waiting = counted(state.n_waiting(), "utterance");
        desk.ui.hint(format_args!("{waiting} evicted but not yet summarized; the next push retries"));
    }
}
