//! `ctxc buffer read`, `last` and `search`: show utterances.

use anyhow::anyhow;

use super::opened::{BufferArgs, OpenBuffer, speaker_parser};
use crate::buffer::Speaker;
use crate::report::buffer::Utterances;
use crate::session::error::CommandError;
use ctxc_store::Query;

#[derive(Debug, clap::Args)]
pub(crate) struct ReadArgs {
    /// Only utterances of this speaker
    #[arg(long, value_name = "WHO", value_parser = speaker_parser())]
    pub(super) speaker: Option<Speaker>,
    #[command(flatten)]
    pub(super) place: BufferArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LastArgs {
    /// Number of utterances
    #[arg(value_name = "N")]
    pub(super) n: u32,
    #[command(flatten)]
    pub(super) read: ReadArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Words to search for, whole or in part
    #[arg(value_name = "QUERY")]
    pub(super) query: String,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) limit: u32,
    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// The utterances to show.
#[derive(Debug)]
pub(super) enum UtterancesToShow {
    All,
    /// The newest ones, at most this number.
    Last(u32),
    /// Those that match `query`, at most `limit`.
    Found {
        query: String,
        limit: u32,
    },
}

/// Shows the utterances `which` of this speaker, or of all.
pub(super) fn run(
    which: &UtterancesToShow,
    speaker: Option<Speaker>,
    buffer: &OpenBuffer<'_>,
) -> Result<(), CommandError> {
    if let UtterancesToShow::Found { query, .. } = which
        && !(Query { text: query, kind: None, speaker: None, sessions: &[], limit: 1 }).has_words()
    {
        return Err(CommandError::usage(anyhow!("the query {query:?} has no letters or digits"))
            .with_hint("use a word or a part of one"));
    }
    let contents = crate::buffer::read_contents(&*buffer.archive, &buffer.name)?;
    let (query, utterances) = match which {
        UtterancesToShow::All => (None, contents.utterances_by(speaker)),
        UtterancesToShow::Last(n) => (None, contents.last_utterances(*n as usize, speaker)),
        UtterancesToShow::Found { query, limit } => {
            let found = crate::buffer::search_utterances(&contents, &buffer.name, query, speaker, *limit)?;
            (Some(query.as_str()), found)
        }
    };
    let report = Utterances::new(buffer.name.to_string(), query, &utterances);
    buffer.context.print(&report, &report)?;
    if contents.utterances.is_empty() {
        buffer.context.ui.print_status(format_args!("buffer {} in {} is empty", buffer.name, buffer.archive_label()));
    } else if report.is_empty() {
        let by = speaker.map(|speaker| format!(" by {speaker}")).unwrap_or_default();
        let with = query.map(|query| format!(" with the words {query:?}")).unwrap_or_default();
        buffer.context.ui.print_status(format_args!("no utterances{by}{with} in buffer {}", buffer.name));
    }
    Ok(())
}
