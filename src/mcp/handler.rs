//! Where calls are answered: one after the other, for a later one goes on from what an earlier one made.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::answer::Answer;
use super::call::{Call, Request};
use super::subject::{self, Made};
use super::{caller, compaction, context, memory, refs, stats};
use crate::report::rewritten::Rewritten;
use crate::session::error::CommandError;
use crate::session::options::{Compacting, Consent, Estimate, Meaning};
use crate::terminal::ui::Ui;
use ctxc_core::apply::{ApplyError, Shelf};
use ctxc_core::plan::PruneStage;
use ctxc_transcript::session::Places;
use ctxc_transcript::text::Tokens;

/// What the server needs.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The session that all calls are about; without it the one that each comes from.
    pub(crate) session: Option<PathBuf>,
    /// Where sessions are looked for.
    pub(crate) places: Vec<Places>,
    /// The id of the session in which the client started the server.
    pub(crate) client_session: Option<String>,
    /// The URL of the archive.
    pub(crate) archive: String,
    /// Whether whole sessions may go there, where it is on a server.
    pub(crate) on_server: Consent,
    /// That archive, as what takes the place of a text names it.
    pub(crate) shelf: Shelf,
    /// The estimate that was asked for.
    pub(crate) estimate: Option<Estimate>,
    /// The size of the context window, where it was named or is configured.
    pub(crate) window: Option<Tokens>,
    /// What `prune` and `fit` go by: the usual rules, and what is protected.
    pub(crate) pruning: PruneStage,
    /// How many of the earliest and of the latest summaries a view shows.
    pub(crate) clip: (u32, u32),
    /// How `memory_read` finds entries by what they mean, or why it cannot; nothing where only by their words.
    pub(crate) meaning: Result<Option<Meaning>, CommandError>,
    /// When the session is compacted, and into what; or why it cannot be.
    pub(crate) compacting: Result<Compacting, CommandError>,
}

/// How often a call is begun again because the client has written to the session meanwhile.
const N_ATTEMPTS: u32 = 5;

/// Where calls are answered.
pub(super) struct Handler {
    settings: Settings,
    started: SystemTime,
    /// The newest result that was made of each session.
    made: Mutex<HashMap<PathBuf, Made>>,
}

impl Handler {
    pub(super) fn new(settings: Settings, started: SystemTime) -> Self {
        Self { settings, started, made: Mutex::default() }
    }

    /// Answers `request`, once those before it are answered.
    pub(super) fn answer(&self, request: &Request, ui: &Ui) -> Answer {
        // What a call before left behind is whole, whatever became of it.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.try_answer(request, &mut made, ui);
        answer.unwrap_or_else(|error| Answer::of_error(&error)).warned(&ui.warnings())
    }

    fn try_answer(
        &self,
        request: &Request,
        made: &mut HashMap<PathBuf, Made>,
        ui: &Ui,
    ) -> Result<Answer, CommandError> {
        let call = Call::of(request)?;
        let source = caller::find(&self.settings, self.started, request, ui)?;
        while_changing(|| self.act(&call, &source, made, ui))
    }

    fn act(
        &self,
        call: &Call,
        source: &PathBuf,
        made: &mut HashMap<PathBuf, Made>,
        ui: &Ui,
    ) -> Result<Answer, CommandError> {
        let Self { settings, .. } = self;
        let subject = subject::open(source, made.get(source), &settings.archive, ui)?;
        let (answer, rewritten) = match call {
            Call::Context(change) => context::answer(change, subject, settings, ui)?,
            Call::CompactContext => compaction::answer(subject, settings, ui)?,
            Call::MemoryRead(wanted) => return memory::answer(wanted, subject, settings, ui),
            Call::ContextStats => return stats::answer(subject, settings, ui),
            Call::ContextRefs(list) => return refs::answer(list, subject, settings),
        };
        if let (Some(output), Some(bytes), Some(operation), None) =
            (&rewritten.output, rewritten.bytes, &rewritten.operation, &rewritten.unchanged)
        {
            let earlier = made.remove(source).map(|made| made.operations).unwrap_or_default();
            let operations = earlier.into_iter().chain([operation.clone()]).collect();
            made.insert(source.clone(), Made { path: output.into(), len: bytes.after, operations });
        }
        Ok(answer)
    }
}

/// Does `act` again where the source was written to while it was read.
pub(super) fn while_changing<T>(mut act: impl FnMut() -> Result<T, CommandError>) -> Result<T, CommandError> {
    let mut attempt = 1;
    loop {
        match act() {
            Err(error) if attempt < N_ATTEMPTS && has_changed(&error) => attempt += 1,
            done => return done,
        }
    }
}

fn has_changed(error: &CommandError) -> bool {
    // What is put together anew has more messages than what was read, where some came between.
    let is_change = |error: &ApplyError| {
        matches!(error, ApplyError::SourceChanged(_) | ApplyError::Locked(_) | ApplyError::OtherConversation(_))
    };
    error.cause::<ApplyError>().is_some_and(is_change)
}

/// Where the result is, and how to go on in it; nothing where nothing was written.
pub(super) fn told(rewritten: &Rewritten) -> String {
    let Some(id) = rewritten.session_id.as_ref().filter(|_| rewritten.output.is_some()) else { return String::new() };
    format!(
        "new session: {id}\nthe running session does not change; later calls of these tools act on the new session, with \
         what was added here since"
    )
}
