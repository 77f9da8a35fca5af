//! Bodies and originals: the queries and what their rows hold.

use tokio_postgres::Row;

use super::row::{Damage, digest, length, optional_digest, optional_text, value};
use crate::archive::StoredOriginal;
use crate::text::Digest;

/// The bodies with some digests.
pub(super) const BODIES: &str = "SELECT digest, codec, content, bytes FROM body WHERE digest = ANY($1)";

/// Those of some digests that are there.
pub(super) const KNOWN: &str = "SELECT digest FROM body WHERE digest = ANY($1)";

/// The digests from one to another, both included, in their order.
pub(super) const DIGESTS: &str = "SELECT digest FROM body WHERE digest BETWEEN $1 AND $2 ORDER BY digest LIMIT $3";

/// The originals with a uuid, newest first; rows for [`original`].
pub(super) const BY_UUID: &str =
    "SELECT * FROM stored_original WHERE left(uuid, 64) = left($1, 64) AND uuid = $1 ORDER BY seq DESC";

/// The newest original that a line replaced, as a row for [`original`].
pub(super) const BY_LINE: &str = "SELECT * FROM stored_original WHERE replaced_by = $1 ORDER BY seq DESC LIMIT 1";

/// The originals that are a line, newest first; rows for [`original`].
pub(super) const OF_LINE: &str = "SELECT * FROM stored_original
    WHERE body = (SELECT id FROM body WHERE digest = $1) ORDER BY seq DESC";

/// The originals that are no operation's, oldest first; rows for [`original`].
pub(super) const LOOSE: &str = "SELECT * FROM stored_original WHERE operation IS NULL ORDER BY seq";

/// The originals of an operation, oldest first; rows for [`original`].
pub(super) const BY_OPERATION: &str =
    "SELECT * FROM stored_original WHERE part = (SELECT part FROM operation WHERE id = $1) ORDER BY seq";

/// Stores bodies that are not there, and puts them on the list of what is to be indexed in the order of their places.
/// They go in by their digests, so that two processes which store the same ones do not wait for each other in a circle.
pub(super) const INSERT_BODIES: &str = "WITH
    put AS (SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::smallint[], $4::bytea[], $5::integer[])
        AS put (digest, bytes, codec, content, place)),
    new AS (INSERT INTO body (digest, bytes, codec, content)
        SELECT digest, bytes, codec, content FROM put ORDER BY digest
        ON CONFLICT (digest) DO NOTHING RETURNING id, digest, bytes)
    INSERT INTO unindexed (body, bytes) SELECT new.id, new.bytes FROM new JOIN put USING (digest) ORDER BY put.place";

/// Notes that bodies were taken out, in their order.
pub(super) const INSERT: &str = "INSERT INTO original (body, uuid, replaced_by, part)
    SELECT body.id, put.uuid, put.replaced_by, $4
    FROM unnest($1::bytea[], $2::text[], $3::bytea[]) WITH ORDINALITY AS put (digest, uuid, replaced_by, place)
    JOIN body USING (digest) ORDER BY put.place";

pub(super) fn original(row: &Row) -> Result<StoredOriginal, Damage> {
    Ok(StoredOriginal {
        digest: digest(row, "digest")?,
        bytes: length(row, "bytes")?,
        uuid: optional_text(row, "uuid")?,
        replaced_by: optional_digest(row, "replaced_by")?,
        operation: optional_text(row, "operation")?,
    })
}

/// A body as it is packed: its digest, its codec, its content and its length.
pub(super) type PackedBody = (Digest, i64, Vec<u8>, u64);

pub(super) fn body(row: &Row) -> Result<PackedBody, Damage> {
    let codec: i16 = value(row, "codec")?;
    Ok((digest(row, "digest")?, codec.into(), value(row, "content")?, length(row, "bytes")?))
}
