//! The clock of a run: how long things take, and when the next is due. Tests stop it.
//!
//! No result of a run depends on it, only the figures that are told of it.

use tokio::time::Instant;

/// Now.
pub(super) fn now() -> Instant {
    Instant::now()
}
