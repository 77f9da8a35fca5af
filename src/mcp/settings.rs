//! What the server was started with.

use std::path::PathBuf;

use crate::session::error::CommandError;
use crate::session::options::{Compacting, Consent, Estimate, Meaning};
use ctxc_core::apply::ArchiveRef;
use ctxc_core::plan::PruneStage;
use ctxc_transcript::session::Places;
use ctxc_transcript::text::Tokens;

/// What the server needs.
#[derive(Debug)]
pub(crate) struct ServerSettings {
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
    pub(crate) archive_ref: ArchiveRef,
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
