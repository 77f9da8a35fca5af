//! The archive on a database: one store for all of them, over a [`link::Link`] that only knows statements and rows.

mod archive;
mod deposit;
mod hits;
mod index;
pub(crate) mod lines;
pub(crate) mod link;
pub(crate) mod objects;
pub(crate) mod operations;
mod packing;
mod records;
mod replace;
pub(crate) mod search;
mod sweep;
pub(crate) mod value;
pub(crate) mod vectors;

pub(crate) use deposit::Store;

use crate::ArchiveError;
use link::{Hold, Link};

/// Carries out `work` in a transaction of its own, which is kept where `is_kept` and `work` succeeds.
pub(crate) fn alone<T>(
    db: &dyn Link,
    hold: Hold,
    is_kept: bool,
    work: impl FnOnce() -> Result<T, ArchiveError>,
) -> Result<T, ArchiveError> {
    db.begin(hold)?;
    let done = work().and_then(|done| if is_kept { db.commit().map(|()| done) } else { Ok(done) });
    if done.is_err() || !is_kept {
        let ended = db.rollback();
        // What went wrong first is what is told.
        return done.and_then(|done| ended.map(|()| done));
    }
    done
}
