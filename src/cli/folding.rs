//! Summaries of messages through the engine that was chosen: what goes where is said and asked, calls are made and drawn,
//! and what went wrong is explained. Nothing is written but cached results.

use std::ops::ControlFlow;

use anyhow::Context;
use jiff::Timestamp;

use super::asking::{Offer, left_behind, offer, warn_not_cached};
use super::error::{CommandError, remedy_hint};
use super::progress::Progress;
use super::settings::{Asking, EngineChoice, Keep, Summarizing};
use super::stored;
use super::ui::Ui;
use crate::report::calls::CallsReport;
use crate::report::size::retries;
use ctxc_engine::chat::Chat;
use ctxc_engine::run::{Cache, Event, Runner, Summarised, SummaryError, summarise_at_once};
use ctxc_engine::{Extract, Said, Summarise};
use ctxc_transcript::text::{Stopped, Tokens, chars4};

/// What would be asked to summarise `chunks`; `None` where no server would be.
///
/// # Errors
/// When what was paid for before cannot be read.
pub(super) fn expect(
    chunks: &[Vec<Said>],
    existing: &str,
    how: &Summarizing,
    keep: &Keep,
) -> Result<Option<CallsReport>, CommandError> {
    let EngineChoice::Chat(asking) = &how.engine else { return Ok(None) };
    let mut archive = stored::open_existing_results(keep);
    let mut cache = archive.as_mut().map(|archive| Cache::new(&mut **archive, None, Timestamp::now()));
    expected(chunks, &wanted(existing, how), asking, cache.as_mut()).map(|(calls, _)| Some(calls))
}

/// What was asked for `folded`; `None` where no server was.
pub(super) fn calls(folded: &Summarised, how: &Summarizing) -> Option<CallsReport> {
    match &how.engine {
        EngineChoice::Extract => None,
        EngineChoice::Chat(asking) => Some(CallsReport::of_summaries(folded, asking.server.endpoint.host())),
    }
}

/// Summarises each of `chunks`, each with the summary so far folded in; the first gets `existing`. Results are cached
/// where originals are kept, as of `session`.
///
/// # Errors
/// When one of them has no summary; then there is none at all.
pub(super) fn fold(
    chunks: &[Vec<Said>],
    existing: &str,
    how: &Summarizing,
    keep: &Keep,
    session: Option<&str>,
    ui: &Ui,
) -> Result<Summarised, CommandError> {
    match &how.engine {
        EngineChoice::Extract => {
            let mut running = Running::start(chunks, ui);
            let folded = summarise_at_once(chunks, &wanted(existing, how), &Extract, |event| running.take(&event));
            running.end(folded, None)
        }
        EngineChoice::Chat(asking) => {
            let mut archive = if chunks.is_empty() { None } else { stored::open_for_results(keep)? };
            let cache = |archive| Cache::new(archive, session.map(str::to_owned), Timestamp::now());
            let cache = archive.as_mut().map(|archive| cache(&mut **archive));
            by_server(chunks, existing, how, asking, cache, ui)
        }
    }
}

fn by_server(
    chunks: &[Vec<Said>],
    existing: &str,
    how: &Summarizing,
    asking: &Asking,
    mut cache: Option<Cache<'_>>,
    ui: &Ui,
) -> Result<Summarised, CommandError> {
    let engine = Chat::new(asking.server.clone());
    let wanted = wanted(existing, how);
    let (calls, tokens) = expected(chunks, &wanted, asking, cache.as_mut())?;
    if how.prompt.as_ref().is_some_and(|prompt| !prompt.contains("{existing_summary}")) {
        ui.warning("the prompt has no {existing_summary}: summaries do not build on each other");
    }
    offer(&Offer { expected: &calls, tokens, noun: "part" }, asking, ui)?;
    let (mut redactor, price) = (asking.secrets.redactor(), |model: &str| asking.prices.get(model));
    let (redactor, cache) = (redactor.as_mut(), cache.as_mut());
    let mut runner = Runner { redactor, cache, price: Some(&price), ..Runner::new(&engine, &asking.terms) };
    let mut running = Running::start(chunks, ui);
    running.has_cache = runner.cache.is_some();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    let folded = runtime.block_on(runner.summarise(chunks, &wanted, |event| running.take(&event)));
    running.end(folded, Some(asking))
}

/// What would be asked, and the tokens of all that would be sent.
fn expected(
    chunks: &[Vec<Said>],
    wanted: &Summarise<'_>,
    asking: &Asking,
    cache: Option<&mut Cache<'_>>,
) -> Result<(CallsReport, Tokens), CommandError> {
    let engine = Chat::new(asking.server.clone());
    let (mut redactor, price) = (asking.secrets.redactor(), |model: &str| asking.prices.get(model));
    let redactor = redactor.as_mut();
    let mut runner = Runner { redactor, cache, price: Some(&price), ..Runner::new(&engine, &asking.terms) };
    let (asked, n_secrets) = runner.expect_summaries(chunks, wanted)?;
    let tokens = asked.iter().filter(|asked| !asked.is_cached).map(|asked| asked.size).sum();
    Ok((CallsReport::expected(&asked, n_secrets, asking.server.endpoint.host()), tokens))
}

fn wanted<'a>(existing: &'a str, how: &'a Summarizing) -> Summarise<'a> {
    let Summarizing { limit, prompts, ref persona, ref prompt, .. } = *how;
    let existing = existing.into();
    Summarise { existing, limit, persona, prompts, prompt: prompt.as_deref(), ..Summarise::default() }
}

/// Folding under way, as it is drawn.
struct Running<'a> {
    ui: &'a Ui,
    progress: Progress,
    sizes: Vec<u64>,
    n_done: usize,
    n_again: u64,
    has_cache: bool,
    not_cached: Option<String>,
}

impl<'a> Running<'a> {
    fn start(chunks: &[Vec<Said>], ui: &'a Ui) -> Self {
        let size = |chunk: &Vec<Said>| chunk.iter().map(|said| chars4(&said.text).0).sum();
        let sizes: Vec<u64> = chunks.iter().map(size).collect();
        let progress = Progress::start(ui, "summarizing", sizes.iter().sum());
        Self { ui, progress, sizes, n_done: 0, n_again: 0, has_cache: false, not_cached: None }
    }

    fn take(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Finished { at, .. } => {
                self.n_done += 1;
                self.progress.advance(self.sizes.get(*at).copied().unwrap_or_default());
                self.draw();
            }
            Event::Again(error) => {
                self.n_again += 1;
                self.ui.detail(format_args!("will retry: {error}"));
                self.draw();
            }
            Event::Halved(error) => self.ui.detail(format_args!("retrying in halves: {error}")),
            Event::NotCached(error) => {
                self.has_cache = false;
                self.not_cached = Some(error.to_string());
            }
            Event::Waiting => {}
        }
        if Stopped::check(self.ui.stop()).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// done and all, and calls made again; the bar itself has the time left.
    fn draw(&self) {
        let Self { n_done, sizes, n_again, .. } = self;
        self.progress.note(|| format!("summarizing {n_done}/{}, {}", sizes.len(), retries(*n_again)));
    }

    /// The summaries, or why there are none and what is kept all the same.
    fn end(
        self,
        folded: Result<Summarised, SummaryError>,
        asking: Option<&Asking>,
    ) -> Result<Summarised, CommandError> {
        let Self { ui, progress, sizes, n_done, has_cache, not_cached, .. } = self;
        progress.finish();
        if let Some(error) = not_cached {
            warn_not_cached(&error, ui);
        }
        let kept = left_behind(if has_cache { n_done } else { 0 });
        folded.map_err(|failure| match failure {
            SummaryError::Interrupted => CommandError::interrupted().hint(kept),
            SummaryError::Engine(at, mut cause) => {
                let host = asking.map(|asking| format!(" by {}", asking.server.endpoint.host())).unwrap_or_default();
                let place = format!("summarise part {} of {}{host}", at + 1, sizes.len());
                // The key of this server may be another than that of the main one.
                let remedy = asking.and_then(|asking| Some(remedy_hint(cause.remedy.take()?, asking.key_variable)));
                let error = CommandError::from(anyhow::Error::new(cause).context(place));
                remedy.into_iter().fold(error, CommandError::hint).hint(kept)
            }
        })
    }
}
