//! Errors of indexing a session.

use std::io;

use crate::version::VersionError;
use ctxc_store::ArchiveError;

/// The reason why a session could not be indexed. Each message fits after "cannot".
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The file could not be read.
    #[error("read the session")]
    Read(#[from] io::Error),
    /// The index or the archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The archive holds the session in an inconsistent state.
    #[error(transparent)]
    Version(#[from] VersionError),
}
