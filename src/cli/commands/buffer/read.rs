//! `ctxc buffer read`, `last` and `search`: show utterances.

use anyhow::anyhow;

use super::run::Desk;
use crate::buffer::{self, Speaker};
use crate::cli::error::{CommandError, Completion};
use crate::cli::tell::tell;
use crate::report::buffer::Utterances;
use ctxc_store::Query;

/// What to show.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) which: Which,
    /// Of this speaker alone.
    pub(crate) speaker: Option<Speaker>,
}

/// Which utterances.
#[derive(Debug)]
pub(crate) enum Which {
    All,
    /// The newest so many.
    Last(u32),
    /// At most so many that have these words.
    Found {
        query: String,
        limit: u32,
    },
}

pub(super) fn run(settings: &Settings, desk: &Desk<'_>) -> Result<Completion, CommandError> {
    let Settings { which, speaker } = settings;
    if let Which::Found { query, .. } = which
        && !(Query { text: query, kind: None, speaker: None, sessions: &[], limit: 1 }).has_words()
    {
        return Err(CommandError::usage(anyhow!("the query {query:?} has no letters or digits"))
            .hint("use a word or a part of one"));
    }
    let contents = buffer::contents(&*desk.archive, desk.name)?;
    let (query, utterances) = match which {
        Which::All => (None, contents.read(*speaker)),
        Which::Last(n) => (None, contents.last(*n as usize, *speaker)),
        Which::Found { query, limit } => {
            let found = buffer::search(&contents, desk.name, query, *speaker, *limit)?;
            (Some(query.as_str()), found)
        }
    };
    let report = Utterances::new(desk.name.to_string(), query, &utterances);
    tell(desk.reporting, desk.ui, &report, &report)?;
    if contents.utterances.is_empty() {
        desk.ui.status(format_args!("buffer {} in {} is empty", desk.name, desk.place()));
    } else if report.is_empty() {
        let by = speaker.map(|speaker| format!(" by {speaker}")).unwrap_or_default();
        let with = query.map(|query| format!(" with the words {query:?}")).unwrap_or_default();
        desk.ui.status(format_args!("no utterances{by}{with} in buffer {}", desk.name));
    }
    Ok(Completion::Full)
}
