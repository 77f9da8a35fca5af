//! `ctxc buffer delete`: delete an utterance, or the whole buffer.

use anyhow::anyhow;
use jiff::Timestamp;

use super::run::Desk;
use crate::buffer::{self, Deleted};
use crate::cli::error::{CommandError, Completion};
use crate::cli::tell::tell;
use crate::report::buffer::DeleteReport;

/// What goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The utterance of this number.
    One(u64),
    /// The whole buffer.
    All(Consent),
}

/// Whether somebody is asked before a whole buffer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Somebody is.
    Asked,
    /// It was given with the command: `--yes`.
    Given,
}

pub(super) fn run(what: What, mut desk: Desk<'_>) -> Result<Completion, CommandError> {
    let name = desk.name.to_string();
    let (report, left) = match what {
        What::One(sequence) => {
            let (place, state) = buffer::delete(&mut *desk.archive, desk.name, sequence, Timestamp::now())?;
            (DeleteReport::one(name, sequence, &state), Some(place))
        }
        What::All(consent) => {
            if consent == Consent::Asked && !is_confirmed(&desk)? {
                desk.ui.status("nothing was deleted");
                return Ok(Completion::Full);
            }
            (DeleteReport::all(name, buffer::delete_all(&mut *desk.archive, desk.name)?), None)
        }
    };
    tell(desk.reporting, desk.ui, &report, &report)?;
    match left {
        Some(Deleted::Summarised) => {
            desk.ui.warning("it was summarized before: the summary still mentions it");
        }
        Some(Deleted::Held | Deleted::Waiting) | None => {}
    }
    Ok(Completion::Full)
}

fn is_confirmed(desk: &Desk<'_>) -> Result<bool, CommandError> {
    let what = format!("delete the buffer {} from {}", desk.name, desk.place());
    desk.ui.confirm(&format!("{what}, with all that was ever in it?"))?.ok_or_else(|| {
        CommandError::usage(anyhow!("--yes is required to {what} without a terminal")).hint("nothing was deleted")
    })
}
