//! `context`: discard, distill or restore what is named, remove what is superseded, or fit the session to a target.

use anyhow::anyhow;

use super::answer::{Answer, Outcome, new_session};
use super::call::{Action, Change};
use super::settings::ServerSettings;
use super::subject::{Subject, rewriting};
use crate::report::prune::PruneText;
use crate::report::rewritten::Rewritten;
use crate::session::archives;
use crate::session::cut::{CutAction, CutRequest, Inputs, Matches, TargetSpec, Unmatched, cut};
use crate::session::error::CommandError;
use crate::session::fit::{FitRequest, fit};
use crate::session::open::OpenSession;
use crate::session::prune::prune;
use crate::session::restore::{RestoreRequest, restore};
use crate::terminal::ui::Ui;
use ctxc_core::apply::{ApplyError, pruning};
use ctxc_core::plan::{PruneStage, Roles};

/// Carries `change` out, and says what came of it.
///
/// # Errors
/// When nothing could be done; then nothing was written.
pub(super) fn answer(
    change: &Change,
    subject: Subject,
    settings: &ServerSettings,
    ui: &Ui,
) -> Result<(Answer, Rewritten), CommandError> {
    let (text, rewritten, outcome) = match change {
        Change::Items(action, specs) => items(*action, specs, subject, settings, ui)?,
        Change::Prune => {
            let rewriting = rewriting(&subject, settings);
            let (pruning, reach) = pruning(&settings.pruning).map_err(CommandError::config)?;
            let report = prune(&pruning, reach, &mut OpenSession::of(&rewriting, subject.reading, ui)?)?;
            (PruneText::run(&report, ui.look()).to_string(), report.rewritten, Outcome::Done)
        }
        Change::Fit(target, effort) => {
            let (rewriting, clip) = (rewriting(&subject, settings), settings.clip);
            let protections = PruneStage { rules: Vec::new(), ..settings.pruning.clone() };
            let request = FitRequest { target: *target, effort: *effort, protections, clip };
            let work = &mut OpenSession::of(&rewriting, subject.reading, ui)?;
            let report = fit(&request, work).map_err(|error| error.hint("or give `force`: true"))?;
            (report.to_string(), report.rewritten, Outcome::Done)
        }
    };
    let text = format!("{}\n{}", text.trim_end(), new_session(&rewritten));
    Ok((Answer { outcome, ..Answer::text(text.trim_end()) }, rewritten))
}

/// Does `action` to what `specs` name.
fn items(
    action: Action,
    specs: &[TargetSpec],
    subject: Subject,
    settings: &ServerSettings,
    ui: &Ui,
) -> Result<(String, Rewritten, Outcome), CommandError> {
    let rewriting = rewriting(&subject, settings);
    let (specs, roles, matches, unmatched) = (specs.to_vec(), Roles::Both, Matches::One, Unmatched::Report);
    let action = match action {
        Action::Discard => CutAction::Discard,
        Action::Distill => CutAction::Distill,
        Action::Restore => {
            let request = RestoreRequest { specs, roles, matches, unmatched, archive: settings.archive.clone() };
            archives::open_existing(&settings.archive).map_err(|error| nothing_out(&error.sentence()))?;
            let work = OpenSession::of(&rewriting, subject.reading, ui)?;
            let report = restore(&request, work).map_err(|error| {
                let is_untouched = matches!(error.cause::<ApplyError>(), Some(ApplyError::NoOperation(_)));
                if is_untouched { nothing_out("the archive knows of no change of it") } else { error }
            })?;
            // What could be brought back in part was.
            let has_failed = report.has_failed() && report.restored == 0;
            let outcome = if has_failed { Outcome::Failed } else { Outcome::Done };
            let hint = if has_failed { "\nmemory_read finds what it said" } else { "" };
            return Ok((format!("{}{hint}", report.to_string().trim_end()), report.rewritten, outcome));
        }
    };
    let request = CutRequest { action, specs, roles, matches, inputs: Inputs::Leave, unmatched };
    let report = cut(&request, OpenSession::of(&rewriting, subject.reading, ui)?)?;
    Ok((report.to_string(), report.rewritten, Outcome::Done))
}

/// The error of a session of which nothing could be brought back.
fn nothing_out(reason: &str) -> CommandError {
    CommandError::from(anyhow!("nothing was removed from this session ({reason})")).hint(
        "context_refs lists removed items; if another archive was used, start the server with `ctxc mcp --archive URL`",
    )
}
