//! Judges each reply once, as it arrives: its outcome, and whether to request a better one.

use std::cell::Cell;

use super::likeness::{foreign_to, unlike};
use super::outcome::{Author, Kept, Outcome, is_error_text};
use super::question::Question;
use crate::language::FactCount;
use crate::redact::{Placeholder, Restored};
use crate::{EngineError, Fault, Prompts, Reply, Request, Shorten, Summarize, cut};
use ctxc_transcript::text::chars4;

/// A summary above this percentage of its limit is requested again before it is cut.
const MOST_OVER: u64 = 125;

/// A reply that was judged.
#[derive(Debug)]
pub(super) struct Answer {
    /// The reply as the engine returned it.
    pub(super) reply: Reply,
    /// The outcome, with the secrets restored.
    pub(super) outcome: Outcome,
    /// The placeholders that the reply lacks.
    pub(super) lost: Vec<Placeholder>,
}

impl Question<'_> {
    /// Judges `reply`. An unusable summary is an error; an unusable shorter text is an outcome with the reason.
    pub(super) fn judge(&self, reply: Reply) -> Result<Answer, EngineError> {
        match &self.given {
            Request::Shorten(given) => Ok(self.judge_shortened(given, reply)),
            Request::Summarize(given) => self.judge_summary(given, reply),
        }
    }

    /// Like [`judge`](Self::judge), but a reply that may be improved is an error that causes another attempt. `refused` is the
    /// reason why the last reply was refused, `n_left` the number of attempts that are left.
    pub(super) fn take(
        &self,
        reply: Result<Reply, EngineError>,
        refused: &Cell<Option<Kept>>,
        n_left: u32,
    ) -> Result<Answer, EngineError> {
        let answer = reply.and_then(|reply| self.judge(reply));
        match &self.given {
            Request::Shorten(_) if self.call.is_some() => once_more(answer, refused),
            Request::Summarize(given) if n_left > 0 => {
                let answer = short_enough(given, answer?)?;
                if self.call.is_some() { self.needed_enough(answer, refused) } else { Ok(answer) }
            }
            _ => answer,
        }
    }

    /// Turns the first summary that lacks most of what it was asked to keep into an error, so that it is requested once more,
    /// with the reason (K-06). The second is taken: the view of a compaction shows what it lacks beside it.
    fn needed_enough(&self, answer: Answer, refused: &Cell<Option<Kept>>) -> Result<Answer, EngineError> {
        let Request::Summarize(sent) = &self.sent else { return Ok(answer) };
        let needed = sent.needed();
        let n_kept = needed.iter().filter(|fact| answer.reply.text.contains(**fact)).count();
        let count = FactCount { kept: n_kept as u64, total: needed.len() as u64 };
        if sent.prompt.is_some() || n_kept * 2 >= needed.len() {
            return Ok(answer);
        }
        let reason = Kept::TooFewFacts(count);
        match refused.replace(Some(reason)) {
            None => Err(EngineError {
                usage: answer.reply.usage,
                ..EngineError::new(Fault::Poor(reason), reason.to_string())
            }),
            Some(_) => Ok(answer),
        }
    }

    fn judge_shortened(&self, given: &Shorten<'_>, reply: Reply) -> Answer {
        let Ok(Restored { text, lost }) = self.restore(&reply.text) else {
            return Answer { reply, outcome: Outcome::Kept(Kept::ForeignPlaceholder), lost: Vec::new() };
        };
        let outcome = Outcome::of_reply(&given.text, text);
        let reason = match &outcome {
            // The built-in engine only extracts from the text itself.
            Outcome::Compressed { text, .. } if self.call.is_some() => unlike(given, text),
            _ => None,
        };
        Answer { reply, outcome: reason.map_or(outcome, Outcome::Kept), lost }
    }

    fn judge_summary(&self, given: &Summarize<'_>, reply: Reply) -> Result<Answer, EngineError> {
        let refused = |fault, message: String| EngineError { usage: reply.usage, ..EngineError::new(fault, message) };
        if reply.text.trim().is_empty() {
            return Err(refused(Fault::Blank, "the summary is blank".to_owned()));
        }
        let first_line = reply.text.trim_start().lines().next().unwrap_or_default().trim_end();
        if is_error_text(&reply.text, "") && !self.sent.texts().any(|text| text.contains(first_line)) {
            return Err(refused(Fault::BadReply, "the summary is an error text".to_owned()));
        }
        let Restored { text, lost } =
            self.restore(&reply.text).map_err(|error| refused(Fault::BadReply, error.to_string()))?;
        let foreign = || foreign_to(&self.sent.texts().collect::<Vec<_>>().join("\n"), &reply.text);
        // The built-in engine only extracts from the messages themselves.
        if let Some(n_facts) = self.call.as_ref().and_then(|_| foreign()) {
            let message = format!(
                "the summary has nothing to do with its messages: none of their {n_facts} facts is in it, and hardly one of their words"
            );
            return Err(refused(Fault::BadReply, message));
        }
        let text = within_limit(given, text.trim());
        let outcome = Outcome::Compressed { tokens: chars4(&text), text, by: Author::Engine };
        Ok(Answer { reply, outcome, lost })
    }
}

/// `summary` cut to its limit, unless prompts are kept in addition to it.
pub(super) fn within_limit(given: &Summarize<'_>, summary: &str) -> String {
    match given.prompts {
        Prompts::Compete => cut(summary, given.limit),
        Prompts::Whole => summary.to_owned(),
    }
}

/// Turns the first poor shorter text into an error, so that it is requested once more, with the reason (K-06).
fn once_more(answer: Result<Answer, EngineError>, refused: &Cell<Option<Kept>>) -> Result<Answer, EngineError> {
    let reason = match &answer {
        Ok(Answer { outcome: Outcome::Kept(reason), .. })
        | Err(EngineError { fault: Fault::Poor(reason) | Fault::PoorTwice(reason), .. })
            if reason.is_poor() =>
        {
            *reason
        }
        _ => return answer,
    };
    match (refused.replace(Some(reason)), answer) {
        (None, Ok(Answer { reply, .. })) => {
            Err(EngineError { usage: reply.usage, ..EngineError::new(Fault::Poor(reason), reason.to_string()) })
        }
        (None, Err(error)) => Err(EngineError { fault: Fault::Poor(reason), ..error }),
        // The second poor reply is cached, since it was paid for, and refused again.
        (Some(_), Ok(answer)) => Ok(answer),
        (Some(_), Err(error)) => Err(EngineError { fault: Fault::PoorTwice(reason), ..error }),
    }
}

/// Turns a summary far over its limit into an error, so that it is requested again before it is cut.
fn short_enough(given: &Summarize<'_>, answer: Answer) -> Result<Answer, EngineError> {
    let size = chars4(&answer.reply.text);
    if given.prompts == Prompts::Whole || size.0 * 100 <= given.limit.0 * MOST_OVER {
        return Ok(answer);
    }
    let message = format!("the summary has {} tokens, of {} that it may have", size.0, given.limit.0);
    Err(EngineError { usage: answer.reply.usage, ..EngineError::new(Fault::BadReply, message) })
}
