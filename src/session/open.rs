//! The steps shared by all verbs that rewrite a session: read it, carry the plan out, report the result.

use std::path::Path;

use super::error::CommandError;
use super::reading::{KnownPast, Reading};
use crate::report::cache::CacheCost;
use crate::report::cost::OperationCost;
use crate::report::deposit::DepositSize;
use crate::report::outcome::{BeforeAfter, LiveTokens, Outcome};
use crate::report::session::SessionRef;
use crate::report::size::short;
use crate::session::archives;
use crate::session::consent::allow_on_server;
use crate::session::options::{Estimate, Keep, Mode, Output, Rewriting};
use crate::session::write::{Changes, FreshSession, WriteJob, fresh, into_session, probe, resume_words, undo_words};
use crate::terminal::ui::Ui;
use ctxc_core::apply::{
    CarriedOut, Composed, Consequences, Gauge, Rebased, Rewrite, Thinking, ThinkingReach, ThinkingRemoved, follow_up,
    has_placeholder, leave_derived, own_edits, recorded_context, title_of, unchanged_tokens, with_session,
};
use ctxc_core::version::{Edits, Version};
use ctxc_core::version::{ThinkingPolicy, title_line};
use ctxc_store::Archive;
use ctxc_transcript::text::{Digest, Tokens};
use ctxc_transcript::{Calibration, Chain, Flags, Index, LineNo, Totals, Transcript};

/// The warning about placeholders in a session that the archive does not know.
pub(crate) const LOST_PAST: &str = "already edited by ctxc, and its original is not in this archive";

/// A session that is being rewritten.
pub(crate) struct OpenSession<'a> {
    pub(crate) settings: &'a Rewriting,
    pub(crate) ui: &'a Ui,
    pub(crate) reading: Reading,
    /// Its title and name before any change: a compaction removes the prompts that they come from.
    pub(crate) title: String,
    session: SessionRef,
    /// The context usage that the client recorded last, before any change.
    measured: Option<Tokens>,
    /// The scale from `chars4` tokens to those of the API, with the context window.
    pub(crate) calibration: Calibration,
    pub(crate) totals: Totals,
    /// The archive, opened for reading; `None` if there is none.
    pub(crate) archive: Option<Box<dyn Archive>>,
    /// The session id that a result written to a file gets.
    pub(crate) identity: Identity,
    /// The keys of earlier versions that the result may equal.
    pub(crate) rendered: Vec<Digest>,
}

/// Gives the result the session id `identity` if it differs from the source's, and the title that ctxc gave the file. A new
/// session gets its id and its title later.
fn stand_as(output: &Output, identity: Option<String>, own: Option<&String>, past: &KnownPast, rewrite: &mut Rewrite) {
    let Some(id) = identity.filter(|id| !matches!(output, Output::NewSession(_)) && Some(id) != own) else { return };
    let version = past.known.as_ref().and_then(|known| known.version.as_ref());
    rewrite.appended.extend(version.and_then(Version::own_title).map(|title| title_line(&id, &title)));
    rewrite.session = Some(id);
}

/// Warns of a change that never or hardly pays, before it is made, and names an alternative (W-18).
fn warn_unless_it_pays(outcome: &Outcome, edits: &Edits, ui: &Ui) {
    let is_change = outcome.unchanged.is_none() && edits.changes_something();
    let Some(warning) = outcome.prompt_cache.filter(|_| is_change).and_then(|cost| cost.warning()) else { return };
    ui.warning(warning);
    let larger = match outcome.verb {
        "fit" => "a lower --to".to_owned(),
        _ => {
            format!("a larger cut, such as `ctxc fit --to {}`,", short(Tokens(outcome.tokens.calibrated.before.0 / 2)))
        }
    };
    ui.hint(format_args!(
        "{larger} pays sooner; once the prompt cache has expired, 5 minutes to an hour after the last request, any cut does"
    ));
}

/// Moves the cuts and the records of `plan` into `rewrite`, which is rendered in its stead.
fn note_plan(plan: Rewrite, rewrite: &mut Rewrite) {
    rewrite.cuts.entry(LineNo(0)).or_default().extend(plan.cuts.into_values().flatten());
    rewrite.records.extend(plan.records);
}

/// An operation as reports and the archive name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent<'a> {
    pub(crate) verb: &'static str,
    /// The reason to report if nothing changes.
    pub(crate) unchanged: &'a str,
    /// The requests to servers so far.
    pub(crate) calls: OperationCost,
}

impl<'a> Intent<'a> {
    /// An operation that asks no server.
    pub(crate) fn offline(verb: &'static str, unchanged: &'a str) -> Self {
        Self { verb, unchanged, calls: OperationCost::default() }
    }
}

/// A result that was written.
struct Written {
    done: CarriedOut,
    deposit: Option<DepositSize>,
    fresh: Option<FreshSession>,
    /// The active content of the result.
    after: Totals,
}

impl Written {
    /// The outcome that was `expected`, with the place of the result; `folder` is its project, if that is not the current
    /// folder.
    fn completed(self, expected: Outcome, settings: &Rewriting, folder: Option<&str>) -> Outcome {
        let Self { done, deposit, fresh, .. } = self;
        let display = |path: &Path| path.display().to_string();
        // A path is reported as it was typed.
        let typed = if let Output::File(path, _) = &settings.output { Some(path) } else { done.path.as_ref() };
        let backup = done.backup.as_deref().map(display);
        let outcome = Outcome {
            output: typed.map(|path| display(path)),
            session_id: fresh.as_ref().map(|fresh| fresh.id.to_string()),
            bytes: Some(BeforeAfter { before: done.bytes_before, after: done.bytes_after }),
            deposit,
            not_read_back: done.not_read_back.filter(|_| backup.is_some()),
            backup,
            resume: fresh.as_ref().map(|fresh| resume_words(&fresh.id.to_string(), &fresh.path, folder)),
            ..expected
        };
        let undo = done.operation.is_some().then(|| undo_words(settings, &outcome)).flatten();
        Outcome { operation: done.operation, undo, ..outcome }
    }
}

/// The planned result of an operation.
struct Rendering {
    /// The session composed anew, if it consists of more than the file.
    rebased: Option<Rebased>,
    rewrite: Rewrite,
    consequences: Consequences,
    /// The visible content before the consequences.
    left: Totals,
}

impl Rendering {
    /// The `chars4` tokens by which the model sees less than of the session without operations.
    fn saved(&self) -> i64 {
        if let Some(recorded) = self.rebased.as_ref().and_then(|rebased| rebased.recorded.as_ref()) {
            return recorded.saved;
        }
        let thinking = self.consequences.thinking.tokens.0.cast_signed();
        let closing = self.consequences.closing.0.cast_signed();
        self.rewrite.saved.values().sum::<i64>() + self.rewrite.already_saved + thinking - closing
    }
}

/// As which session a result stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The id of the file that was read.
    File,
    /// The id of the source that the file was made from.
    Source,
}

impl<'a> OpenSession<'a> {
    /// Reads the session, and warns about a broken chain.
    pub(crate) fn open(settings: &'a Rewriting, ui: &'a Ui) -> Result<Self, CommandError> {
        Self::of(settings, Reading::of(&settings.source, ui)?, ui)
    }

    /// Opens a session that has been read.
    pub(crate) fn of(settings: &'a Rewriting, mut reading: Reading, ui: &'a Ui) -> Result<Self, CommandError> {
        reading.warn_of_chain(ui);
        let archive = match &settings.keep {
            Keep::In(url) => archives::open_if_there(url)?,
            Keep::Nowhere => None,
        };
        if let Some(archive) = archive.as_deref() {
            reading.inherit(archive);
        }
        let calibration = reading.calibration().with_window(settings.window);
        if let (Some(archive), None, None) = (&archive, &reading.past.known, &reading.drafted) {
            reading.recognise(&**archive)?;
        }
        if let (Keep::In(url), Mode::Do) = (&settings.keep, settings.mode) {
            allow_on_server(url, settings.on_server, reading.past.known.is_some(), ui)?;
        }
        let title = title_of(reading.transcript())?;
        Ok(Self { title, archive, ..Self::without_archive(settings, reading, calibration, ui) })
    }

    /// A session that was read, of which no archive knows anything; it has no title yet.
    pub(crate) fn without_archive(
        settings: &'a Rewriting,
        reading: Reading,
        calibration: Calibration,
        ui: &'a Ui,
    ) -> Self {
        let totals = Totals::of(&reading.index, &reading.chain);
        let (session, measured) = (reading.session(), reading.measured());
        let (title, archive, identity, rendered) = (String::new(), None, Identity::File, Vec::new());
        Self { settings, ui, reading, title, session, measured, calibration, totals, archive, identity, rendered }
    }

    /// The outcome of an operation named `verb` that leaves the session as it is.
    pub(crate) fn outcome_as_is(&self, verb: &'static str) -> Outcome {
        Outcome {
            verb,
            session: self.session.clone(),
            measured: self.measured,
            source: self.reading.name.clone(),
            dry_run: self.settings.mode == Mode::Show,
            tokens: LiveTokens::of(self.totals, self.totals, &self.calibration, &self.calibration),
            measure: self.estimate(),
            window: self.calibration.window,
            ..Outcome::default()
        }
    }

    /// The outcome of an operation named `verb` that is not planned to the end: `after` is expected to be left of the
    /// session, and `unchanged` are the `chars4` tokens before the first change that the model sees.
    pub(crate) fn outcome_expected(&self, verb: &'static str, after: Totals, unchanged: Option<Tokens>) -> Outcome {
        let tokens = LiveTokens::of(self.totals, after, &self.calibration, &self.calibration);
        let prompt_cache = self.prompt_cache(&tokens, unchanged);
        Outcome { tokens, prompt_cache, ..self.outcome_as_is(verb) }
    }

    /// The cost in the prompt cache of a change to `tokens`, of which `unchanged` stay before the first change.
    fn prompt_cache(&self, tokens: &LiveTokens, unchanged: Option<Tokens>) -> Option<CacheCost> {
        let BeforeAfter { before, after } = tokens.calibrated;
        unchanged.map(|unchanged| CacheCost::of(before, after, self.calibration.context(unchanged)))
    }

    /// Refuses a destination that cannot be written to, before work that takes time.
    pub(crate) fn probe(&self) -> Result<(), CommandError> {
        probe(&self.settings.output, &self.reading)
    }

    /// The size of the context if `rewrite` were carried out now, with all consequences and with the edits that are already
    /// planned, in the estimate that the user asked for.
    pub(crate) fn size(&self, rewrite: &Rewrite, reach: ThinkingReach) -> Result<Tokens, CommandError> {
        let Reading { index, chain, past, .. } = &self.reading;
        // An empty rewrite has no consequences, and finding consequences takes another pass over the file.
        if rewrite.is_nothing() && past.pending.is_empty() && reach == ThinkingReach::BehindChange {
            return Ok(self.estimate().context(rewrite.left(index, chain).context()));
        }
        let (mut edits, rewrite) = self.planned(rewrite.clone(), reach);
        let Rendering { consequences, left, .. } = self.render(&mut edits, rewrite)?;
        Ok(self.estimate().context(consequences.expected(left).context()))
    }

    /// The size of the context after `rewrite` alone, without its consequences.
    pub(crate) fn size_of_stages(&self, rewrite: &Rewrite) -> Tokens {
        self.estimate().context(rewrite.left(&self.reading.index, &self.reading.chain).context())
    }

    /// The context usage in `outcome`, by the estimate that the user asked for.
    pub(crate) fn size_after(&self, outcome: &Outcome) -> Tokens {
        match self.settings.estimate {
            Some(Estimate::Chars4) => outcome.tokens.chars4.after.context(),
            Some(Estimate::Calibrated) | None => outcome.tokens.calibrated.after,
        }
    }

    /// The estimate to compare with a target: calibrated unless the user asked for another.
    pub(crate) fn estimate(&self) -> Calibration {
        match self.settings.estimate {
            Some(Estimate::Chars4) => Calibration::CHARS4,
            Some(Estimate::Calibrated) | None => self.calibration,
        }
    }

    /// Carries `plan` out with all that follows from it, as [`Self::rewrite`].
    pub(crate) fn finish(
        &mut self,
        plan: Rewrite,
        reach: ThinkingReach,
        intent: Intent<'_>,
    ) -> Result<Outcome, CommandError> {
        let (edits, plan) = self.planned(plan, reach);
        self.rewrite(edits, plan, intent)
    }

    /// The planned operation, and the part of `rewrite` that still has to be applied to the draft.
    fn planned(&self, mut rewrite: Rewrite, reach: ThinkingReach) -> (Edits, Rewrite) {
        let reading = &self.reading;
        leave_derived(&mut rewrite, &reading.past.lines);
        let own = own_edits(&reading.index, &rewrite, &reading.past.lines);
        let planned =
            if reading.past.pending.is_empty() { own } else { [reading.past.pending.as_slice(), &own].concat() };
        let edits = Edits {
            removes_all_thinking: reach == ThinkingReach::Everywhere,
            thinking: self.settings.thinking,
            ..reading.edits(planned)
        };
        (edits, rewrite)
    }

    /// Renders the session with `edits`, of which `plan` are the effects on the file as it is, checks and writes it. A dry
    /// run only renders. Afterwards the index and the chain are those of the result.
    ///
    /// # Errors
    /// When the result has a problem that its source has not, or cannot be written; then nothing has changed.
    pub(crate) fn rewrite(
        &mut self,
        mut edits: Edits,
        mut plan: Rewrite,
        intent: Intent<'_>,
    ) -> Result<Outcome, CommandError> {
        if self.reading.is_composed() && edits.is_nothing() {
            plan = Rewrite::default();
        }
        if matches!(self.settings.keep, Keep::In(_)) && !turns_back(&edits) && !edits.is_nothing() {
            warn_of_lost_past(&mut self.reading, self.ui)?;
        }
        let rendering = self.render(&mut edits, plan)?;
        let Rendering { rebased, rewrite, consequences, left } = &rendering;
        if self.settings.thinking == ThinkingPolicy::KeepLoop && consequences.thinking.kept_in_open_loop > 0 {
            self.ui.warning(
                "the open tool loop keeps its thinking, which the API may reject after an edit; without --keep-loop the \
                 loop is closed",
            );
        }
        let followed = match rebased {
            Some(rebased) => self.followed(rebased, rewrite, *consequences, *left)?,
            None => *consequences,
        };
        let is_nothing = rewrite.is_nothing() && rebased.is_none();
        let as_is = Outcome {
            unchanged: is_nothing.then(|| intent.unchanged.to_owned()),
            thinking_removed: followed.thinking,
            gauge: followed.gauge,
            closed_loop: followed.n_closing > 0,
            n_closing: followed.n_closing,
            request_copies_removed: followed.n_request_copies,
            ..self.outcome_as_is(intent.verb)
        };
        // Without a place of its own a result that is the source is not written again.
        let is_written = !is_nothing || matches!(self.settings.output, Output::File(..) | Output::Stdout);
        if self.settings.mode == Mode::Do && !is_written {
            return Ok(as_is);
        }
        // A session that comes back is as large as the client recorded it then.
        let comes_back = rebased.as_ref().filter(|_| !edits.changes_something()).map(|rebased| &rebased.composed);
        let of_result = comes_back.map_or(self.calibration, |it| Calibration::learn(&it.index, &it.stored));
        let figures = |work: &Self, after: Totals, outcome: Outcome| {
            let tokens = LiveTokens::of(work.totals, after, &work.calibration, &of_result);
            let prompt_cache = work.prompt_cache(&tokens, followed.unchanged);
            Outcome { tokens, prompt_cache, ..outcome }
        };
        let expected = figures(self, consequences.expected(*left), as_is);
        warn_unless_it_pays(&expected, &edits, self.ui);
        if self.settings.mode == Mode::Show {
            return Ok(expected);
        }
        // A new session stands beside its source.
        let (reading, cwd) = (&self.reading, self.settings.cwd.as_deref());
        let folder = reading.path.as_deref().and_then(|path| reading.folder_elsewhere(cwd, path));
        let written = self.write(edits, rendering, expected.cost(intent.calls), intent.verb, is_nothing)?;
        let after = written.after;
        Ok(figures(self, after, written.completed(expected, self.settings, folder.as_deref())))
    }

    /// Writes `rendering`, which is the session with `edits`; `is_copy` says that it is the session as it is.
    fn write(
        &mut self,
        edits: Edits,
        rendering: Rendering,
        cost: OperationCost,
        verb: &'static str,
        is_copy: bool,
    ) -> Result<Written, CommandError> {
        let saved = rendering.saved();
        let Rendering { rebased, mut rewrite, .. } = rendering;
        let Self { settings, ui, reading, title, .. } = self;
        let fresh = fresh(&settings.output, reading.path.as_deref()).filter(|_| !is_copy);
        if let Some(fresh) = &fresh {
            into_session(verb, fresh, title, &mut rewrite);
        }
        let (output, keep, title) = (&settings.output, &settings.keep, title.clone());
        let job = WriteJob { verb, output, keep, fresh: fresh.as_ref(), title, is_copy, cost };
        let (done, deposit) = job.run(reading, Changes { rewrite: &rewrite, edits, saved, rebased }, ui)?;
        let mut after = Totals::of(&reading.index, &reading.chain);
        rewrite.appended.iter().for_each(|line| after.add(line.as_bytes()));
        if let Keep::In(url) = &settings.keep {
            archives::warn_of_size(url, settings.keep_max, ui);
        }
        if let Some(deposit) = deposit {
            ui.detail(format_args!("archived  {deposit}"));
        }
        if let (Some(reason), Some(backup)) = (&done.not_read_back, &done.backup) {
            ui.warning(format_args!(
                "the archive does not give back the session that was replaced ({reason}); keep {}",
                backup.display()
            ));
            ui.hint("run `ctxc archive check --repair`");
        }
        Ok(Written { done, deposit, fresh, after })
    }

    /// Applies `edits` to the session with all consequences; `plan` is their effect on the file as it is.
    fn render(&self, edits: &mut Edits, plan: Rewrite) -> Result<Rendering, CommandError> {
        let reach = if edits.removes_all_thinking { ThinkingReach::Everywhere } else { ThinkingReach::BehindChange };
        // Undoing may make an earlier operation effective again, even if the file is the session itself.
        if (self.reading.is_composed() || turns_back(edits)) && !edits.is_nothing() {
            return self.compose(edits, plan, reach);
        }
        let (reading, mut rewrite) = (&self.reading, plan);
        let left = rewrite.left(&reading.index, &reading.chain);
        let thinking = Thinking { policy: self.settings.thinking, reach };
        let consequences =
            reading.named(follow_up(reading.transcript(), &self.calibration, thinking, &[], &mut rewrite))?;
        Ok(Rendering { rebased: None, rewrite, consequences, left })
    }

    /// Composes the session anew with `edits`; `plan` is their effect on the file as it is.
    fn compose(&self, edits: &mut Edits, plan: Rewrite, reach: ThinkingReach) -> Result<Rendering, CommandError> {
        let identity_of = self.identity;
        let Self { settings, reading, .. } = self;
        let mut history = reading.past.history.with(edits.clone());
        let own_session = reading.past.known.as_ref().map(|known| known.state.session.clone());
        let read_as = archives::last_session(reading.session_file())?;
        // The session id of the result: a fresh one, that of the file, or that of the source.
        let identity = match &settings.output {
            _ if reading.past.known.as_ref().is_none_or(|known| known.version.is_none()) => None,
            _ if identity_of == Identity::Source => own_session.clone(),
            Output::NewSession(_) => own_session.clone(),
            Output::File(..) | Output::Stdout | Output::InPlace(_) => read_as.clone(),
        };
        let made = reading.made(self.archive.as_deref());
        if let Some(rebased) = made.recorded(&history, &self.rendered)? {
            let mut rewrite = Rewrite::default();
            stand_as(&settings.output, identity, own_session.as_ref(), &reading.past, &mut rewrite);
            note_plan(plan, &mut rewrite);
            let left = Totals::of(&rebased.composed.index, &rebased.composed.chain);
            return Ok(Rendering { rebased: Some(rebased), rewrite, consequences: Consequences::default(), left });
        }
        let mut rebased = made.rebase(&history, identity.as_deref())?;
        // An undo has no edits of its own, so its policy on thinking applies to everything that is rendered.
        let at_least = if edits.changes_something() { ThinkingPolicy::Remove } else { edits.thinking };
        let answers = made.answers(&rebased)?;
        if !answers.is_empty() {
            edits.edits.extend(answers);
            history = reading.past.history.with(edits.clone());
            rebased = made.rebase(&history, identity.as_deref())?;
        }
        let mut rewrite = std::mem::take(&mut rebased.composed.rewrite);
        let everywhere = history.standing().any(|operation| operation.removes_all_thinking);
        let reach = if everywhere { ThinkingReach::Everywhere } else { reach };
        let policy = history.thinking().max(at_least);
        rewrite.policies.values_mut().for_each(|policy| *policy = at_least.max(*policy));
        let Composed { index, chain, stored, runs, identities, .. } = &rebased.composed;
        let calibration = Calibration::learn(index, stored);
        let left = rewrite.left(index, chain);
        let thinking = Thinking { policy, reach };
        let consequences = reading.named(follow_up(
            Transcript { file: &rebased.base.file, index, chain },
            &calibration,
            thinking,
            runs,
            &mut rewrite,
        ))?;
        if let Some(id) = &identity {
            rewrite.appended.iter_mut().for_each(|line| *line = with_session(line, id));
        }
        for (line, splice) in identities {
            if !rewrite.dropped.contains(*line) {
                rewrite.edit_unseen(*line, [splice.clone()]);
            }
        }
        note_plan(plan, &mut rewrite);
        stand_as(&settings.output, identity, own_session.as_ref(), &reading.past, &mut rewrite);
        Ok(Rendering { rebased: Some(rebased), rewrite, consequences, left })
    }

    /// The consequences in the session put together anew: more follows there than from the edits of now.
    fn followed(
        &self,
        rebased: &Rebased,
        rewrite: &Rewrite,
        consequences: Consequences,
        left: Totals,
    ) -> Result<Consequences, CommandError> {
        let reading = &self.reading;
        let Composed { index, chain, .. } = &rebased.composed;
        let thinking = |index: &Index, lines: &mut dyn Iterator<Item = LineNo>| {
            lines.filter(|line| index.record(*line).flags.any(Flags::THINKING)).count() as u64
        };
        let before = thinking(&reading.index, &mut reading.chain.lines.iter().copied());
        let goes = |line: &LineNo| {
            rewrite.dropped.contains(*line) || rewrite.edits.contains_key(line) && !rewrite.unseen.contains(*line)
        };
        let after = thinking(index, &mut chain.lines.iter().copied().filter(|line| !goes(line)));
        let left = consequences.expected(left);
        let found;
        let read = match &reading.drafted {
            Some(drafted) => {
                found = Chain::find(&drafted.index);
                Transcript { file: &drafted.file, index: &drafted.index, chain: &found }
            }
            None => reading.transcript(),
        };
        // Thinking that only the draft lost, or only the draft has again, does not count as removed.
        let (totals, own) = (Totals::of(&reading.index, &reading.chain), Totals::of(read.index, read.chain));
        let before = before.min(thinking(read.index, &mut read.chain.lines.iter().copied()));
        let removed = ThinkingRemoved {
            entries: before.saturating_sub(after),
            tokens: totals.thinking.min(own.thinking).saturating_sub(left.thinking),
            signature_tokens: totals.signatures.min(own.signatures).saturating_sub(left.signatures),
            kept_in_open_loop: consequences.thinking.kept_in_open_loop,
        };
        let recorded = recorded_context(read)?;
        let gauge = consequences.gauge.map(|gauge| Gauge { before: recorded.unwrap_or(gauge.before), ..gauge });
        let unchanged = unchanged_tokens(read, Transcript { file: &rebased.base.file, index, chain }, rewrite)?;
        Ok(Consequences { thinking: removed, gauge, unchanged, ..consequences })
    }
}

/// Whether `edits` undo something, so that earlier changes may no longer apply.
fn turns_back(edits: &Edits) -> bool {
    !edits.undoes.is_empty() || !edits.gives_back.is_empty()
}

/// Warns about a session that ctxc shortened before but whose original is not in the archive (N-05).
fn warn_of_lost_past(reading: &mut Reading, ui: &Ui) -> Result<(), CommandError> {
    let is_source = reading.past.known.as_ref().is_none_or(|known| known.version.is_none());
    if is_source && reading.named(has_placeholder(reading.session_file()))? {
        ui.warning(format_args!("{}: {LOST_PAST}; it can only be restored to its current state", reading.name));
    }
    Ok(())
}
