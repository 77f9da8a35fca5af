//! Shortening texts through an engine: what goes where is said and asked, calls are made and drawn, and what ended them
//! early is explained. Tasks go in, what came of each comes out; nothing is written but cached results.

use std::ops::ControlFlow;

use anyhow::Context;
use jiff::Timestamp;

use super::error::{CommandError, remedy_hint};
use crate::report::calls::{Calls, CallsReport};
use crate::report::size::{count, counted, retries};
use crate::session::archives;
use crate::session::consent::{Offer, left_behind, offer, warn_not_cached, were};
use crate::session::open::OpenSession;
use crate::session::options::{Asking, EngineChoice, Keep};
use crate::terminal::progress::Progress;
use crate::terminal::ui::Ui;
use ctxc_engine::chat::Chat;
use ctxc_engine::run::Task;
use ctxc_engine::run::{Cache, End, Event, Outcome, Questions, Ran, Spent, run, run_at_once};
use ctxc_engine::{EngineError, Extract, Usd};
use ctxc_transcript::Calibration;
use ctxc_transcript::text::{Stopped, Tokens};

/// What came of tasks.
pub(crate) struct Shrunk {
    /// What came of each, in their order.
    pub(crate) ran: Ran,
    /// What was asked, where a server was.
    pub(crate) calls: Option<Calls>,
}

/// What would be asked for `tasks`; `None` where no server would be.
pub(crate) fn expect(tasks: &[Task], choice: &EngineChoice, keep: &Keep) -> Result<Option<Calls>, CommandError> {
    let EngineChoice::Chat(asking) = choice else { return Ok(None) };
    let engine = Chat::new(asking.server.clone());
    let mut archive = archives::open_existing_results(keep);
    let cache = archive.as_mut().map(|archive| Cache::new(&mut **archive, None, Timestamp::now()));
    let questions = questions(tasks, asking, &engine, cache.as_ref())?;
    Ok(Some(Calls::expected(&questions, asking.server.endpoint.host())))
}

/// Shortens the texts of `tasks` of the session of `work` through the engine of `choice`. Results are cached where originals
/// are kept.
///
/// # Errors
/// When the run was broken off, or ended in a way after which nothing is to be written.
pub(crate) fn shrink(tasks: &[Task], choice: &EngineChoice, work: &OpenSession<'_>) -> Result<Shrunk, CommandError> {
    match choice {
        EngineChoice::Extract => at_once(tasks, work.ui),
        EngineChoice::Chat(asking) => by_server(tasks, asking, work),
    }
}

fn at_once(tasks: &[Task], ui: &Ui) -> Result<Shrunk, CommandError> {
    let mut progress = Progress::start(ui, "compressing", tasks.iter().map(|task| task.tokens.0).sum());
    let mut flow = Ok(());
    let ran = run_at_once(tasks, &Extract, |event| {
        if let Event::Finished { task, .. } = event {
            progress.advance(task.tokens.0);
        }
        flow = Stopped::check(ui.stop());
        if flow.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    flow?;
    Ok(Shrunk { ran, calls: None })
}

fn by_server(tasks: &[Task], asking: &Asking, work: &OpenSession<'_>) -> Result<Shrunk, CommandError> {
    let (ui, session) = (work.ui, work.reading.stem.as_deref());
    let engine = Chat::new(asking.server.clone());
    let host = asking.server.endpoint.host();
    let mut archive = if tasks.is_empty() { None } else { archives::open_for_results(&work.settings.keep)? };
    let cache = |archive| Cache::new(archive, session.map(str::to_owned), Timestamp::now());
    let mut cache = archive.as_mut().map(|archive| cache(&mut **archive));
    let questions = questions(tasks, asking, &engine, cache.as_ref())?;
    announce(&questions, asking, ui)?;
    let mut running = Running::start(tasks, work.estimate(), ui);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    let mut has_cache = cache.is_some();
    let ran =
        runtime.block_on(run(tasks, &questions, &engine, &asking.terms, cache.as_mut(), |event| running.take(&event)));
    let Running { progress, not_cached, .. } = running;
    progress.finish();
    if let Some(error) = not_cached {
        has_cache = false;
        warn_not_cached(&error, ui);
    }
    refuse_unless_whole(&ran, &host, has_cache)?;
    warn_of_end(&ran, asking, ui);
    let calls = Calls::made(&questions, host, &ran);
    Ok(Shrunk { ran, calls: Some(calls) })
}

fn questions(
    tasks: &[Task],
    asking: &Asking,
    engine: &Chat,
    cache: Option<&Cache<'_>>,
) -> Result<Questions, CommandError> {
    let mut redactor = asking.secrets.redactor();
    Ok(Questions::of(tasks, engine, redactor.as_mut(), cache, |model| asking.prices.get(model))?)
}

/// Says what goes where, and asks a person who has not said yes before.
fn announce(questions: &Questions, asking: &Asking, ui: &Ui) -> Result<(), CommandError> {
    let expected = CallsReport::expected(questions, asking.server.endpoint.host());
    let tokens = questions.open().map(|question| ctxc_transcript::text::chars4(question.text())).sum();
    offer(&Offer { expected: &expected, tokens, noun: "text" }, asking, ui)
}

/// A run under way, as it is drawn.
struct Running<'a> {
    ui: &'a Ui,
    measure: Calibration,
    progress: Progress,
    n_tasks: usize,
    n_done: usize,
    n_again: u64,
    saved: Tokens,
    cost: Usd,
    not_cached: Option<String>,
}

impl<'a> Running<'a> {
    fn start(tasks: &[Task], measure: Calibration, ui: &'a Ui) -> Self {
        let progress = Progress::start(ui, "asking", tasks.iter().map(|task| task.tokens.0).sum());
        let n_tasks = tasks.len();
        Self {
            ui,
            measure,
            progress,
            n_tasks,
            n_done: 0,
            n_again: 0,
            saved: Tokens::ZERO,
            cost: Usd::ZERO,
            not_cached: None,
        }
    }

    fn take(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Finished { task, outcome, spent } => {
                self.n_done += 1;
                self.cost += spent.cost;
                if let Outcome::Compressed { tokens, .. } = outcome {
                    self.saved += task.tokens.saturating_sub(*tokens);
                }
                self.progress.advance(task.tokens.0);
                self.draw();
            }
            Event::Again(error) => {
                self.n_again += 1;
                self.ui.detail(format_args!("will retry: {error}"));
                self.draw();
            }
            Event::NotCached(error) => self.not_cached = Some(error.to_string()),
            Event::Waiting => {}
        }
        if Stopped::check(self.ui.stop()).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// done and all, tokens saved, cost, calls made again; the bar itself has the time left.
    fn draw(&self) {
        let Self { n_done, n_tasks, n_again, cost, .. } = self;
        let saved = self.measure.scale(self.saved).0;
        self.progress
            .note(|| format!("{n_done}/{n_tasks}, {} tokens saved, {cost}, {}", count(saved), retries(*n_again)));
    }
}

/// Fails where a run has ended so that nothing is to be written, and says what of it is kept.
fn refuse_unless_whole(ran: &Ran, host: &str, has_cache: bool) -> Result<(), CommandError> {
    let n_done = ran.spent.iter().zip(&ran.outcomes).filter(|(spent, outcome)| has_reply(spent, outcome)).count();
    let kept = left_behind(if has_cache { n_done } else { 0 });
    let error = |error: &EngineError| anyhow::Error::new(error.clone());
    match &ran.end {
        End::Done | End::OverBudget => Ok(()),
        End::Interrupted => Err(CommandError::interrupted().hint(kept)),
        End::Refused(cause) => Err(CommandError::from(error(cause).context(format!("ask {host}"))).hint(kept)),
        End::GaveUp(cause) => {
            let context = format!("go on asking {host}: too many texts in a row got no reply, the last because");
            Err(CommandError::from(error(cause).context(context)).hint(kept))
        }
    }
}

fn has_reply(spent: &Spent, outcome: &Outcome) -> bool {
    spent.calls > 0 && !matches!(outcome, Outcome::Failed(_)) && !outcome.is_not_asked()
}

/// Says why tasks have no reply where the run has gone on all the same.
fn warn_of_end(ran: &Ran, asking: &Asking, ui: &Ui) {
    let n_failed = ran.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_))).count() as u64;
    if let Some(error) = ran.last_error.as_ref().filter(|_| n_failed > 0) {
        ui.warning(format_args!("{} got no reply; last error: {error}", counted(n_failed, "message")));
        if let Some(remedy) = error.remedy {
            ui.hint(remedy_hint(remedy, asking.key_variable));
        }
    }
    if let (End::OverBudget, Some(cap)) = (&ran.end, asking.terms.max_cost) {
        let n_left = ran.outcomes.iter().filter(|outcome| outcome.is_not_asked()).count() as u64;
        ui.warning(format_args!("{} not sent: another request could exceed {cap}", were(n_left, "message")));
        ui.hint("raise --max-cost to continue; finished results are cached");
    }
}
