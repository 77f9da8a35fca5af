//! The session with the edits of an operation, and all consequences of them: rendered, and not written yet.

use super::error::CommandError;
use super::open::{Identity, OpenSession};
use super::reading::Reading;
use crate::session::options::Output;
use ctxc_core::apply::{
    ComposedSession, Consequences, Gauge, Rebased, Rewrite, Thinking, ThinkingReach, ThinkingRemoved, follow_up,
    leave_derived, own_edits, recorded_context, unchanged_tokens,
};
use ctxc_core::version::{Edits, SessionIds, ThinkingPolicy, title_line};
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{Calibration, Chain, Flags, Index, LineNo, Totals, Transcript};

/// The planned result of an operation.
pub(super) struct Rendering {
    /// The session composed anew, if it consists of more than the file.
    pub(super) rebased: Option<Rebased>,
    pub(super) rewrite: Rewrite,
    pub(super) consequences: Consequences,
    /// The visible content before the consequences.
    pub(super) left: Totals,
}

impl Rendering {
    /// The `chars4` tokens by which the model sees less than of the session without operations.
    pub(super) fn saved(&self) -> i64 {
        if let Some(recorded) = self.rebased.as_ref().and_then(|rebased| rebased.recorded.as_ref()) {
            return recorded.saved;
        }
        let thinking = self.consequences.thinking.tokens.0.cast_signed();
        let closing = self.consequences.closing.0.cast_signed();
        self.rewrite.saved.values().sum::<i64>() + self.rewrite.already_saved + thinking - closing
    }
}

impl OpenSession<'_> {
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

    /// The planned operation, and the part of `rewrite` that still has to be applied to the draft.
    pub(super) fn planned(&self, mut rewrite: Rewrite, reach: ThinkingReach) -> (Edits, Rewrite) {
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

    /// Applies `edits` to the session with all consequences; `plan` is their effect on the file as it is.
    pub(super) fn render(&self, edits: &mut Edits, plan: Rewrite) -> Result<Rendering, CommandError> {
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
        let reading = &self.reading;
        let mut history = reading.past.history.with(edits.clone());
        let made = reading.made(self.archive.as_deref());
        if let Some(rebased) = made.recorded(&history, &self.rendered)? {
            let mut rewrite = Rewrite::default();
            self.stand_as(&mut rewrite);
            note_plan(plan, &mut rewrite);
            let left = Totals::of(&rebased.composed.index, &rebased.composed.chain);
            return Ok(Rendering { rebased: Some(rebased), rewrite, consequences: Consequences::default(), left });
        }
        let mut rebased = made.rebase(&history)?;
        // An undo has no edits of its own, so its policy on thinking applies to everything that is rendered.
        let at_least = if edits.changes_something() { ThinkingPolicy::Remove } else { edits.thinking };
        let answers = made.answers(&rebased)?;
        if !answers.is_empty() {
            edits.edits.extend(answers);
            history = reading.past.history.with(edits.clone());
            rebased = made.rebase(&history)?;
        }
        let mut rewrite = std::mem::take(&mut rebased.composed.rewrite);
        let everywhere = history.standing().any(|operation| operation.removes_all_thinking);
        let reach = if everywhere { ThinkingReach::Everywhere } else { reach };
        let policy = history.thinking().max(at_least);
        rewrite.policies.values_mut().for_each(|policy| *policy = at_least.max(*policy));
        let ComposedSession { index, chain, stored, runs, .. } = &rebased.composed;
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
        note_plan(plan, &mut rewrite);
        self.stand_as(&mut rewrite);
        Ok(Rendering { rebased: Some(rebased), rewrite, consequences, left })
    }

    /// Gives the result the session id of the file, with the title that ctxc gave it, or that of the source. A new session
    /// gets its id and its title later.
    fn stand_as(&self, rewrite: &mut Rewrite) {
        let Some(known) = self.reading.past.known.as_ref() else { return };
        let Some(version) = known.version.as_ref() else { return };
        match (&self.settings.output, self.identity) {
            (Output::NewSession(_), _) => {}
            (_, Identity::Source) => {
                let is_other = |id: &String| known.state.session_ids != SessionIds::of(id) || self.reading.has_grown();
                rewrite.session = version.source_session.clone().filter(is_other);
            }
            (_, Identity::File) => {
                let Some(id) = &version.session else { return };
                rewrite.appended.extend(version.own_title().map(|title| title_line(id, &title)));
                rewrite.session = Some(id.clone());
            }
        }
    }

    /// The consequences in the session put together anew: more follows there than from the edits of now.
    pub(super) fn followed(
        &self,
        rebased: &Rebased,
        rewrite: &Rewrite,
        consequences: Consequences,
        left: Totals,
    ) -> Result<Consequences, CommandError> {
        let reading = &self.reading;
        let ComposedSession { index, chain, .. } = &rebased.composed;
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

/// Moves the cuts and the records of `plan` into `rewrite`, which is rendered in its stead.
fn note_plan(plan: Rewrite, rewrite: &mut Rewrite) {
    rewrite.cuts.entry(LineNo(0)).or_default().extend(plan.cuts.into_values().flatten());
    rewrite.records.extend(plan.records);
}

/// Whether `edits` undo something, so that earlier changes may no longer apply.
pub(super) fn turns_back(edits: &Edits) -> bool {
    !edits.undoes.is_empty() || !edits.gives_back.is_empty()
}
