//! Shortening texts through an engine: announces requests and asks for consent, shows progress, and explains why a run ended
//! early. Only cached results are written.

use std::ops::ControlFlow;

use super::archives;
use super::consent::{Running, left_behind, offer, runner, wait, were};
use super::error::{CommandError, remedy_hint};
use super::open::OpenSession;
use super::options::{Asking, EngineChoice, Keep};
use crate::report::calls::Calls;
use crate::report::size::counted;
use crate::terminal::progress::Progress;
use crate::terminal::ui::Ui;
use ctxc_engine::chat::ChatEngine;
use ctxc_engine::run::Task;
use ctxc_engine::run::{RunEnd, RunEvent, RunResult, TaskOutcome, UsageTotals, shorten_at_once};
use ctxc_engine::{EngineError, ExtractEngine};
use ctxc_transcript::text::StopRequested;

/// The results of tasks.
pub(crate) struct Shrunk {
    /// The run, with an outcome for each task in order.
    pub(crate) ran: RunResult,
    /// The requests to the server; `None` without one.
    pub(crate) calls: Option<Calls>,
}

/// The requests that `tasks` would take; `None` without a server.
pub(crate) fn expect(tasks: &[Task], choice: &EngineChoice, keep: &Keep) -> Result<Option<Calls>, CommandError> {
    let EngineChoice::Chat(asking) = choice else { return Ok(None) };
    let engine = ChatEngine::new(asking.server.clone());
    let mut archive = archives::open_existing_results(keep);
    let questions = runner(&engine, asking, archive.as_mut(), None).prepare_tasks(tasks)?;
    Ok(Some(Calls::expected(&questions, asking.server.endpoint.host())))
}

/// Shortens the texts of `tasks` of the session of `work` through the engine of `choice`. Results are cached in the archive.
///
/// # Errors
/// When the run was interrupted, or ended in a way that allows no write.
pub(crate) fn shrink(tasks: &[Task], choice: &EngineChoice, work: &OpenSession<'_>) -> Result<Shrunk, CommandError> {
    match choice {
        EngineChoice::Extract => at_once(tasks, work.ui),
        EngineChoice::Chat(asking) => by_server(tasks, asking, work),
    }
}

fn at_once(tasks: &[Task], ui: &Ui) -> Result<Shrunk, CommandError> {
    let mut progress = Progress::start(ui, "compressing", tasks.iter().map(|task| task.tokens.0).sum());
    let mut flow = Ok(());
    let ran = shorten_at_once(tasks, &ExtractEngine, |event| {
        if let RunEvent::Finished { at, .. } = event {
            progress.advance(tasks.get(at).map_or(0, |task| task.tokens.0));
        }
        flow = StopRequested::check_flag(ui.stop());
        if flow.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    drop(progress);
    flow?;
    Ok(Shrunk { ran, calls: None })
}

fn by_server(tasks: &[Task], asking: &Asking, work: &OpenSession<'_>) -> Result<Shrunk, CommandError> {
    let (ui, session) = (work.ui, work.reading.stem.as_deref());
    let engine = ChatEngine::new(asking.server.clone());
    let host = asking.server.endpoint.host();
    let mut archive = if tasks.is_empty() { None } else { archives::open_for_results(&work.settings.keep)? };
    let mut runner = runner(&engine, asking, archive.as_mut(), session);
    let questions = runner.prepare_tasks(tasks)?;
    offer(&questions.request_costs(), &Calls::expected(&questions, host.clone()).sum, "text", asking, ui)?;
    let sizes = tasks.iter().map(|task| task.tokens).collect();
    let mut running = Running::start("asking", sizes, Some(work.estimate()), ui);
    let ran = wait(runner.shorten_tasks(&questions, |event| running.take(&event)))?;
    running.finish();
    refuse_unless_whole(&ran, &host, runner.cache.is_some())?;
    warn_of_end(&ran, asking, ui);
    let calls = Calls::made(&questions, host, &ran);
    Ok(Shrunk { ran, calls: Some(calls) })
}

/// Fails if a run ended in a way that allows no write, with a hint about cached results.
fn refuse_unless_whole(ran: &RunResult, host: &str, has_cache: bool) -> Result<(), CommandError> {
    let n_done = ran.spent.iter().zip(&ran.outcomes).filter(|(spent, outcome)| has_reply(spent, outcome)).count();
    let kept = left_behind(if has_cache { n_done } else { 0 });
    let error = |error: &EngineError| anyhow::Error::new(error.clone());
    match &ran.end {
        RunEnd::Done | RunEnd::OverBudget => Ok(()),
        RunEnd::Interrupted => Err(CommandError::interrupted().hint(kept)),
        RunEnd::Refused(cause) => Err(CommandError::from(error(cause).context(format!("ask {host}"))).hint(kept)),
        RunEnd::GaveUp(cause) => {
            let context = format!("go on asking {host}: too many texts in a row got no reply, the last because");
            Err(CommandError::from(error(cause).context(context)).hint(kept))
        }
    }
}

fn has_reply(spent: &UsageTotals, outcome: &TaskOutcome) -> bool {
    spent.calls > 0 && !matches!(outcome, TaskOutcome::Failed(_)) && !outcome.is_not_asked()
}

/// Warns about tasks without a reply if the run went on nevertheless.
fn warn_of_end(ran: &RunResult, asking: &Asking, ui: &Ui) {
    let n_failed = ran.outcomes.iter().filter(|outcome| matches!(outcome, TaskOutcome::Failed(_))).count() as u64;
    if let Some(error) = ran.last_error.as_ref().filter(|_| n_failed > 0) {
        ui.warning(format_args!("{} got no reply; last error: {error}", counted(n_failed, "message")));
        if let Some(remedy) = error.remedy {
            ui.hint(remedy_hint(remedy, asking.key_variable));
        }
    }
    if let (RunEnd::OverBudget, Some(cap)) = (&ran.end, asking.options.max_cost) {
        let n_left = ran.outcomes.iter().filter(|outcome| outcome.is_not_asked()).count() as u64;
        ui.warning(format_args!("{} not sent: another request could exceed {cap}", were(n_left, "message")));
        ui.hint("raise --max-cost to continue; finished results are cached");
    }
}
