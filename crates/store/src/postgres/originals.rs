//! Bodies and originals: the queries and what their rows hold.

use tokio_postgres::Row;

use super::row::{Damage, digest, length, optional_digest, optional_text, value};
use crate::body::{PACKED, Unpacker};
use crate::pack::{Pack, pack_at};
use crate::{LineId, StoredOriginal};
use ctxc_transcript::text::Digest;

/// The bodies with some digests.
pub(super) const BODIES: &str = "SELECT id, digest, codec, content, bytes FROM body WHERE digest = ANY($1)";

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

/// Drops the originals of an operation.
pub(super) const DROP: &str = "DELETE FROM original WHERE part = (SELECT part FROM operation WHERE id = $1)";

/// Stores bodies that are not there, and puts them on the list of what is to be indexed in the order of their places.
/// They go in by their digests, so that two processes which store the same ones do not wait for each other in a circle.
pub(super) const INSERT_BODIES: &str = "WITH
    put AS (SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::smallint[], $4::bytea[], $5::integer[])
        AS put (digest, bytes, codec, content, place)),
    new AS (INSERT INTO body (digest, bytes, codec, content)
        SELECT digest, bytes, codec, content FROM put ORDER BY digest
        ON CONFLICT (digest) DO NOTHING RETURNING id, digest, bytes)
    INSERT INTO unindexed (body, bytes) SELECT new.id, new.bytes FROM new JOIN put USING (digest) ORDER BY put.place";

/// Notes that bodies were removed, in their order.
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

/// The bodies of some numbers.
pub(super) const BODIES_BY_ID: &str = "SELECT id, digest, codec, content, bytes FROM body WHERE id = ANY($1)";

/// A line as its row holds it.
#[derive(Clone)]
pub(super) struct PackedBody {
    pub(super) id: LineId,
    pub(super) digest: Digest,
    pub(super) bytes: u64,
    pub(super) codec: i64,
    pub(super) content: Vec<u8>,
}

impl PackedBody {
    /// The number of the pack that it lies in, if it does.
    pub(super) fn pack(&self) -> Option<u64> {
        (self.codec == PACKED).then(|| pack_at(&self.content)).flatten()
    }

    /// The line, from its pack if it lies in one; `None` where it is not what was stored.
    pub(super) fn unpack(self, unpacker: &mut Unpacker, pack: Option<&Pack>) -> Option<Vec<u8>> {
        let Self { id, digest, bytes, codec, content } = self;
        match pack {
            None => unpacker.unpack(codec, content, bytes, digest),
            Some(pack) => {
                let line = pack.line(id)?;
                (line.len() as u64 == bytes && Digest::of(line) == digest).then(|| line.to_vec())
            }
        }
    }
}

pub(super) fn body(row: &Row) -> Result<PackedBody, Damage> {
    let codec: i16 = value(row, "codec")?;
    Ok(PackedBody {
        id: LineId(length(row, "id")?),
        digest: digest(row, "digest")?,
        bytes: length(row, "bytes")?,
        codec: codec.into(),
        content: value(row, "content")?,
    })
}
