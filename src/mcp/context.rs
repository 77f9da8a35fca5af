//! `context`: discard, distill or restore named items, prune superseded results, or fit the session to a target.

use anyhow::anyhow;

use super::answer::{CallStatus, ToolAnswer, new_session};
use super::call::Change;
use super::settings::ServerSettings;
use super::subject::{Subject, rewriting};
use crate::report::outcome::Outcome;
use crate::report::prune::PruneText;
use crate::session::archives;
use crate::session::cut::{CutRequest, Inputs, Matches, TargetSpec, Targets, Unmatched, cut};
use crate::session::error::CommandError;
use crate::session::fit::{FitRequest, fit};
use crate::session::open::OpenSession;
use crate::session::options::{Mode, Rewriting};
use crate::session::prune::prune;
use crate::session::restore::restore;
use crate::terminal::ui::Ui;
use ctxc_core::apply::{ApplyError, PruneSelection};
use ctxc_core::plan::{PruneStage, Roles};

/// Carries `change` out, and returns the report.
///
/// # Errors
/// When nothing could be done; then nothing was written.
pub(super) fn answer(
    change: &Change,
    subject: Subject,
    settings: &ServerSettings,
    ui: &Ui,
) -> Result<(ToolAnswer, Outcome), CommandError> {
    let rewriting = rewriting(&subject, settings);
    let (text, outcome, status) = carry_out(change, subject, &rewriting, settings, ui)?;
    let text = format!("{}\n{}", text.trim_end(), new_session(&outcome));
    Ok((ToolAnswer { status, ..ToolAnswer::text(text.trim_end()) }, outcome))
}

/// Carries `change` out with the settings `rewriting`, and returns the text of the report.
///
/// # Errors
/// When nothing could be done; then nothing was written.
pub(super) fn carry_out(
    change: &Change,
    subject: Subject,
    rewriting: &Rewriting,
    settings: &ServerSettings,
    ui: &Ui,
) -> Result<(String, Outcome, CallStatus), CommandError> {
    let work = |reading| OpenSession::of(rewriting, reading, ui);
    let named = |specs: &[TargetSpec]| {
        let (roles, matches, unmatched) = (Roles::Both, Matches::One, Unmatched::Report);
        Targets { specs: specs.to_vec(), roles, matches, unmatched }
    };
    match change {
        Change::Cut(action, specs) => {
            let request = CutRequest { action: *action, targets: named(specs), inputs: Inputs::Leave };
            let report = cut(&request, work(subject.reading)?)?;
            Ok((report.to_string(), report.outcome, CallStatus::Done))
        }
        Change::Restore(specs) => {
            archives::open_existing(&settings.archive).map_err(|error| nothing_out(&error.sentence()))?;
            let work = work(subject.reading)?;
            let report = restore(&named(specs), &settings.archive, work).map_err(|error| {
                let is_untouched = matches!(error.cause::<ApplyError>(), Some(ApplyError::NoOperation(_)));
                if is_untouched { nothing_out("the archive knows of no change of it") } else { error }
            })?;
            // A partial restore counts as done.
            let has_failed = report.has_failed() && report.restored == 0;
            let status = if has_failed { CallStatus::Failed } else { CallStatus::Done };
            let hint = if has_failed { "\nmemory_read finds what it said" } else { "" };
            Ok((format!("{}{hint}", report.to_string().trim_end()), report.outcome, status))
        }
        Change::Prune => {
            let pruning = PruneSelection::from_stage(settings.pruning.clone()).map_err(CommandError::usage)?;
            let report = prune("prune", &pruning, &mut work(subject.reading)?)?;
            let text = match rewriting.mode {
                Mode::Do => PruneText::run(&report, ui.look()).to_string(),
                Mode::Show => PruneText::plan(&report, ui.look()).to_string(),
            };
            Ok((text, report.outcome, CallStatus::Done))
        }
        Change::Fit(target, effort) => {
            let protections = PruneStage { rules: Vec::new(), ..settings.pruning.clone() };
            let request = FitRequest { target: *target, effort: *effort, protections, clip: settings.clip };
            let report = fit(&request, &mut work(subject.reading)?);
            let report = report.map_err(|error| error.hint("or give `force`: true"))?;
            Ok((report.to_string(), report.outcome, CallStatus::Done))
        }
    }
}

/// The error of a session from which nothing was removed.
fn nothing_out(reason: &str) -> CommandError {
    CommandError::from(anyhow!("nothing was removed from this session ({reason})")).hint(
        "context_refs lists removed items; if another archive was used, start the server with `ctxc mcp --archive URL`",
    )
}
