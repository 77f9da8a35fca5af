//! Originals: the queries and what their rows hold.

use rusqlite::Row;

use super::row::length;
use crate::StoredOriginal;
use ctxc_transcript::text::Digest;

/// The digests from one to another, both included, in their order.
pub(super) const DIGESTS: &str = "SELECT digest FROM body
    WHERE substr(digest, 1, 8) BETWEEN substr(?1, 1, 8) AND substr(?2, 1, 8) AND digest BETWEEN ?1 AND ?2
    ORDER BY digest LIMIT ?3";

/// The originals with a uuid, newest first; rows for [`original`].
pub(super) const BY_UUID: &str = "SELECT digest, bytes, uuid, replaced_by, operation FROM stored_original
    WHERE substr(uuid, 1, 8) = substr(?1, 1, 8) AND uuid = ?1 ORDER BY seq DESC";

/// The newest original that a line replaced, as a row for [`original`].
pub(super) const BY_LINE: &str = "SELECT digest, bytes, uuid, replaced_by, operation FROM stored_original
    WHERE substr(replaced_by, 1, 8) = substr(?1, 1, 8) AND replaced_by = ?1 ORDER BY seq DESC LIMIT 1";

/// The originals that are a line, newest first; rows for [`original`].
pub(super) const OF_LINE: &str = "SELECT digest, bytes, uuid, replaced_by, operation FROM stored_original
    WHERE substr(digest, 1, 8) = substr(?1, 1, 8) AND digest = ?1 ORDER BY seq DESC";

/// The originals that are no operation's, oldest first; rows for [`original`].
pub(super) const LOOSE: &str = "SELECT digest, bytes, uuid, replaced_by, operation FROM stored_original
    WHERE operation IS NULL ORDER BY seq";

/// The originals of an operation, oldest first; rows for [`original`].
pub(super) const BY_OPERATION: &str = "SELECT digest, bytes, uuid, replaced_by, operation FROM stored_original
    WHERE seq BETWEEN (SELECT first_original FROM operation WHERE id = ?1)
        AND (SELECT last_original FROM operation WHERE id = ?1) ORDER BY seq";

/// Drops the originals of an operation.
pub(super) const DROP: &str = "DELETE FROM original
    WHERE seq BETWEEN (SELECT first_original FROM operation WHERE id = ?1)
        AND (SELECT last_original FROM operation WHERE id = ?1)";

pub(super) const INSERT: &str = "INSERT INTO original (body, uuid, replaced_by) VALUES (?, ?, ?)";

pub(super) fn original(row: &Row<'_>) -> rusqlite::Result<StoredOriginal> {
    Ok(StoredOriginal {
        digest: Digest::from_bytes(row.get("digest")?),
        bytes: length(row, "bytes")?,
        uuid: row.get("uuid")?,
        replaced_by: row.get::<_, Option<_>>("replaced_by")?.map(Digest::from_bytes),
        operation: row.get("operation")?,
    })
}
