//! Why the archive could not give or take a session.

use std::io;

use ctxc_store::ArchiveError;
use ctxc_transcript::text::Digest;

/// Why the archive could not give or take a session.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// A file could not be read, or a temporary one not written.
    #[error("read the session")]
    Read(#[from] io::Error),
    /// The file changed while it was read.
    #[error("read the session: it changed while it was read")]
    Changed,
    /// The archive failed.
    #[error("use the archive")]
    Archive(#[from] ArchiveError),
    /// The archive lacks something that it names elsewhere.
    #[error("read the session from the archive: {what} {key} is missing")]
    Missing {
        /// What it is.
        what: &'static str,
        /// Its key.
        key: String,
    },
    /// Something in the archive cannot be read by this version of ctxc.
    #[error("read the session from the archive: unknown format of {what} {key}")]
    Unknown {
        /// What it is.
        what: &'static str,
        /// Its key.
        key: String,
    },
    /// What came out of the archive is not what was kept.
    #[error("read the session from the archive: the result is not what was stored ({0})")]
    NotWhatWasKept(Digest),
}
