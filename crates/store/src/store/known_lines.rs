//! The digests of the lines that a file has, so that a line that is new needs no look-up.

use std::collections::HashSet;

use super::link::{DatabaseLink, Dialect, LAST_LINE};
use super::value::{Row, values};
use crate::ArchiveError;
use ctxc_transcript::text::Digest;

/// Each look-up costs as much as reading so many digests one after the other.
const WORTH: i64 = 8;
/// More digests are not held: 4 million take some 70 MB.
const MOST: i64 = 4_000_000;

/// The beginnings of the digests of all lines of a file, once so many were asked for that reading them all pays off. A
/// server is asked for many at a time instead.
#[derive(Default)]
pub(crate) struct KnownLines {
    beginnings: Option<HashSet<u64>>,
    /// The id up to which lines were read.
    last_id: i64,
    /// Whether nobody else can have stored any since: in the same transaction.
    is_current: bool,
    n_asked: i64,
}

impl KnownLines {
    /// Notes that others may have stored lines since.
    pub(super) const fn mark_stale(&mut self) {
        self.is_current = false;
    }

    /// Reads what was stored since, before `n_lines` are asked for.
    pub(super) fn catch_up(&mut self, db: &dyn DatabaseLink, n_lines: usize) -> Result<(), ArchiveError> {
        if self.is_current || db.sql_dialect() != Dialect::Sqlite {
            return Ok(());
        }
        let last = db.query_number(LAST_LINE, &[])?;
        self.n_asked = self.n_asked.saturating_add(i64::try_from(n_lines).unwrap_or(i64::MAX));
        if self.beginnings.is_none() && (last > MOST || self.n_asked.saturating_mul(WORTH) < last) {
            return Ok(());
        }
        let beginnings = self.beginnings.get_or_insert_default();
        let stored = "SELECT digest FROM body WHERE id > $1";
        db.each_row(stored, &values![self.last_id], &mut |row: &mut Row| {
            beginnings.insert(digest_prefix(&row.next_value()?));
            Ok(())
        })?;
        (self.last_id, self.is_current) = (last, true);
        Ok(())
    }

    /// Whether a line with this digest may be there.
    pub(super) fn may_have(&self, digest: &Digest) -> bool {
        self.beginnings.as_ref().is_none_or(|known| known.contains(&digest_prefix(digest)))
    }

    /// Notes a line that was stored in this transaction.
    pub(super) fn note_stored(&mut self, digest: &Digest, id: i64) {
        if let Some(beginnings) = &mut self.beginnings {
            beginnings.insert(digest_prefix(digest));
            self.last_id = self.last_id.max(id);
        }
    }
}

/// The first 8 bytes of a digest, which distinguish it from nearly all others.
fn digest_prefix(digest: &Digest) -> u64 {
    digest.as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes)
}
