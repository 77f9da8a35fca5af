//! A transaction of its own, for what is no part of a deposit.

use super::link::{DatabaseLink, LockScope};
use crate::ArchiveError;

/// Carries out `work` in a transaction of its own, which is kept where `is_kept` and `work` succeeds.
pub(crate) fn run_in_transaction<T>(
    db: &dyn DatabaseLink,
    hold: LockScope,
    is_kept: bool,
    work: impl FnOnce() -> Result<T, ArchiveError>,
) -> Result<T, ArchiveError> {
    db.begin_transaction(hold)?;
    let done = work().and_then(|done| if is_kept { db.commit().map(|()| done) } else { Ok(done) });
    if done.is_err() || !is_kept {
        let ended = db.rollback();
        // The first error is reported.
        return done.and_then(|done| ended.map(|()| done));
    }
    done
}
