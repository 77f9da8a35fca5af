//! Sessions that may have been meant, and their order.

use std::path::PathBuf;
use std::time::SystemTime;

/// The most candidates that an error lists.
const MAX_CANDIDATES: usize = 10;

/// A session that may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session's file.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its length in bytes.
    pub len: u64,
}

/// Newest first, and by path where two are equally old, so that equal folders give equal answers.
#[must_use]
pub fn newest_first(mut sessions: Vec<Candidate>) -> Vec<Candidate> {
    sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    sessions
}

/// As many of the newest as an error carries.
pub(super) fn newest_few(sessions: Vec<Candidate>) -> Vec<Candidate> {
    let mut sessions = newest_first(sessions);
    sessions.truncate(MAX_CANDIDATES);
    sessions
}
