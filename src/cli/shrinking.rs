//! Shortening texts through an engine: what goes where is said and asked, calls are made and drawn, and what ended them
//! early is explained. Tasks go in, what came of each comes out; nothing is written but cached results.

use std::ops::ControlFlow;

use anyhow::Context;
use jiff::Timestamp;

use super::asking::{Offer, left_behind, offer, warn_not_cached, were};
use super::error::{CommandError, remedy_hint};
use super::progress::Progress;
use super::rewriting::Work;
use super::settings::{Asking, EngineChoice, Keep};
use super::stored;
use super::ui::Ui;
use crate::report::calls::Calls;
use crate::report::size::{count, counted, retries};
use ctxc_engine::chat::Chat;
use ctxc_engine::run::Task;
use ctxc_engine::run::{Cache, End, Event, Outcome, PriceOf, Questions, Ran, Runner, Spent, shorten_at_once};
use ctxc_engine::{EngineError, Extract, Usd};
use ctxc_transcript::Calibration;
use ctxc_transcript::text::{Stopped, Tokens};

/// What came of tasks.
pub(super) struct Shrunk {
    /// What came of each, in their order.
    pub(super) ran: Ran,
    /// What was asked, where a server was.
    pub(super) calls: Option<Calls>,
}

/// What would be asked for `tasks`; `None` where no server would be.
pub(super) fn expect(tasks: &[Task], choice: &EngineChoice, keep: &Keep) -> Result<Option<Calls>, CommandError> {
    let EngineChoice::Chat(asking) = choice else { return Ok(None) };
    let engine = Chat::new(asking.server.clone());
    let mut archive = stored::open_existing_results(keep);
    let mut cache = archive.as_mut().map(|archive| Cache::new(&mut **archive, None, Timestamp::now()));
    let (mut redactor, price) = (asking.secrets.redactor(), |model: &str| asking.prices.get(model));
    let price: PriceOf<'_> = &price;
    let (redactor, cache) = (redactor.as_mut(), cache.as_mut());
    let mut runner = Runner { redactor, cache, price: Some(price), ..Runner::new(&engine, &asking.terms) };
    let questions = runner.questions(tasks)?;
    Ok(Some(Calls::expected(&questions, asking.server.endpoint.host())))
}

/// Shortens the texts of `tasks` of the session of `work` through the engine of `choice`. Results are cached where originals
/// are kept.
///
/// # Errors
/// When the run was broken off, or ended in a way after which nothing is to be written.
pub(super) fn shrink(tasks: &[Task], choice: &EngineChoice, work: &Work<'_>) -> Result<Shrunk, CommandError> {
    match choice {
        EngineChoice::Extract => at_once(tasks, work.ui),
        EngineChoice::Chat(asking) => by_server(tasks, asking, work),
    }
}

fn at_once(tasks: &[Task], ui: &Ui) -> Result<Shrunk, CommandError> {
    let mut progress = Progress::start(ui, "compressing", tasks.iter().map(|task| task.tokens.0).sum());
    let mut flow = Ok(());
    let ran = shorten_at_once(tasks, &Extract, |event| {
        if let Event::Finished { at, .. } = event {
            progress.advance(tasks.get(at).map_or(0, |task| task.tokens.0));
        }
        flow = Stopped::check(ui.stop());
        if flow.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    flow?;
    Ok(Shrunk { ran, calls: None })
}

fn by_server(tasks: &[Task], asking: &Asking, work: &Work<'_>) -> Result<Shrunk, CommandError> {
    let (ui, session) = (work.ui, work.reading.stem.as_deref());
    let engine = Chat::new(asking.server.clone());
    let host = asking.server.endpoint.host();
    let mut archive = if tasks.is_empty() { None } else { stored::open_for_results(&work.settings.keep)? };
    let cache = |archive| Cache::new(archive, session.map(str::to_owned), Timestamp::now());
    let mut cache = archive.as_mut().map(|archive| cache(&mut **archive));
    let mut has_cache = cache.is_some();
    let (mut redactor, price) = (asking.secrets.redactor(), |model: &str| asking.prices.get(model));
    let (redactor, cache) = (redactor.as_mut(), cache.as_mut());
    let mut runner = Runner { redactor, cache, price: Some(&price), ..Runner::new(&engine, &asking.terms) };
    let questions = runner.questions(tasks)?;
    announce(&questions, asking, ui)?;
    let mut running = Running::start(tasks, work.estimate(), ui);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    let ran = runtime.block_on(runner.shorten(&questions, |event| running.take(&event)));
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

/// Says what goes where, and asks a person who has not said yes before.
fn announce(questions: &Questions<'_>, asking: &Asking, ui: &Ui) -> Result<(), CommandError> {
    let expected = Calls::expected(questions, asking.server.endpoint.host()).sum;
    let tokens = questions.asked().iter().filter(|asked| !asked.is_cached).map(|asked| asked.size).sum();
    offer(&Offer { expected: &expected, tokens, noun: "text" }, asking, ui)
}

/// A run under way, as it is drawn.
struct Running<'a> {
    tasks: &'a [Task],
    ui: &'a Ui,
    measure: Calibration,
    progress: Progress,
    n_done: usize,
    n_again: u64,
    saved: Tokens,
    cost: Usd,
    not_cached: Option<String>,
}

impl<'a> Running<'a> {
    fn start(tasks: &'a [Task], measure: Calibration, ui: &'a Ui) -> Self {
        let progress = Progress::start(ui, "asking", tasks.iter().map(|task| task.tokens.0).sum());
        Self {
            tasks,
            ui,
            measure,
            progress,
            n_done: 0,
            n_again: 0,
            saved: Tokens::ZERO,
            cost: Usd::ZERO,
            not_cached: None,
        }
    }

    fn take(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Finished { at, outcome, spent } => {
                let size = self.tasks.get(*at).map(|task| task.tokens).unwrap_or_default();
                self.n_done += 1;
                self.cost += spent.cost;
                if let Some(Outcome::Compressed { tokens, .. }) = outcome {
                    self.saved += size.saturating_sub(*tokens);
                }
                self.progress.advance(size.0);
                self.draw();
            }
            Event::Again(error) => {
                self.n_again += 1;
                self.ui.detail(format_args!("will retry: {error}"));
                self.draw();
            }
            Event::NotCached(error) => self.not_cached = Some(error.to_string()),
            Event::Halved(_) | Event::Waiting => {}
        }
        if Stopped::check(self.ui.stop()).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// done and all, tokens saved, cost, calls made again; the bar itself has the time left.
    fn draw(&self) {
        let Self { n_done, n_again, cost, .. } = self;
        let n_tasks = self.tasks.len();
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
