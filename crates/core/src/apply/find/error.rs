//! Why a session could not be indexed.

use std::io;

use crate::version::VersionError;
use ctxc_store::ArchiveError;

/// Why a session could not be indexed. Each message fits after "cannot".
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The file could not be read.
    #[error("read the session")]
    Read(#[from] io::Error),
    /// The index or the archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What the archive keeps does not fit together.
    #[error(transparent)]
    Version(#[from] VersionError),
}
