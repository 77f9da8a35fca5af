//! `ctxc buffer summary` and `ctxc buffer tokens`: show the summary, or how full the buffer is.

use super::opened::OpenBuffer;
use crate::buffer::State;
use crate::report::buffer::{FillReport, SummaryReport};
use crate::report::size::counted;
use crate::session::error::CommandError;

pub(super) fn summary(buffer: &OpenBuffer<'_>) -> Result<(), CommandError> {
    let state = crate::buffer::state(&*buffer.archive, &buffer.name)?;
    let report = SummaryReport::new(buffer.name.to_string(), &state);
    buffer.context.print(&report, &report)?;
    if report.is_empty() {
        buffer.context.ui.status(format_args!(
            "the buffer {} in {} has no summary: nothing was evicted",
            &buffer.name,
            buffer.place()
        ));
    } else {
        buffer.context.ui.status(report.origin());
    }
    hint(&state, buffer);
    Ok(())
}

pub(super) fn tokens(buffer: &OpenBuffer<'_>) -> Result<(), CommandError> {
    let state = crate::buffer::state(&*buffer.archive, &buffer.name)?;
    let report = FillReport::new(buffer.name.to_string(), &state);
    buffer.context.print(&report, &report)?;
    hint(&state, buffer);
    Ok(())
}

/// Hints at utterances that the summary lacks.
fn hint(state: &State, buffer: &OpenBuffer<'_>) {
    if state.n_waiting() > 0 {
        let waiting = counted(state.n_waiting(), "utterance");
        buffer.context.ui.hint(format_args!("{waiting} evicted but not yet summarized; the next push retries"));
    }
}
