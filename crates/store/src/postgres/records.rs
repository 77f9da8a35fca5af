//! Records: the queries and what their rows hold.

use tokio_postgres::Row;

use super::row::{Damage, digest, length, optional_text, text, time, value};
use crate::packed::Packed;
use crate::{Document, DocumentId, Kind, NotAKind, Record};

/// The records with some kinds and keys; rows for [`packed`].
pub(super) const BY_NAMES: &str = "SELECT record.* FROM record
    JOIN unnest($1::text[], $2::bytea[]) AS wanted (kind, key) USING (kind, key)";

/// The newest records that a filter admits, newest first; rows for [`packed`].
pub(super) const FILTERED: &str = "SELECT * FROM record WHERE ($1::text IS NULL OR kind = $1)
    AND ($2::text IS NULL OR (left(session, 64) = left($2, 64) AND session = $2))
    AND ($3::text IS NULL OR speaker = $3) ORDER BY seq DESC LIMIT $4::bigint";

/// The kinds and keys of the records whose key lies between two, in their order; rows for [`name`].
pub(super) const BY_PREFIX: &str = "SELECT kind, key FROM record WHERE key BETWEEN $1 AND $2 ORDER BY key LIMIT $3";

/// The kinds and keys of all records, oldest first; rows for [`name`].
pub(super) const ALL: &str = "SELECT kind, key FROM record ORDER BY seq";

/// Stores records in the place of older ones, of which the index then knows nothing more. They get their numbers in the
/// order of the arrays, and go in by their keys, as bodies by their digests.
pub(super) const INSERT: &str = "WITH
    put AS MATERIALIZED (SELECT nextval('record_seq') AS seq, put.* FROM unnest($1::text[], $2::bytea[], $3::text[],
        $4::text[], $5::bigint[], $6::smallint[], $7::bigint[], $8::bytea[], $9::bytea[], $10::text[], $11::bigint[])
        AS put (kind, key, session, speaker, time, codec, bytes, content, checksum, meta, expires)),
    stored AS (INSERT INTO record (seq, kind, key, session, speaker, time, codec, bytes, content, checksum, meta, expires)
        SELECT * FROM put ORDER BY key, kind
        ON CONFLICT (key, kind) DO UPDATE SET seq = EXCLUDED.seq, session = EXCLUDED.session,
            speaker = EXCLUDED.speaker, time = EXCLUDED.time, codec = EXCLUDED.codec, bytes = EXCLUDED.bytes,
            content = EXCLUDED.content, checksum = EXCLUDED.checksum, meta = EXCLUDED.meta, expires = EXCLUDED.expires
        RETURNING id, seq, bytes),
    gone AS (DELETE FROM document USING stored WHERE document.record = stored.id)
    INSERT INTO unindexed (record, bytes) SELECT id, bytes FROM stored ORDER BY seq";

/// Drops a record.
pub(super) const DROP: &str = "DELETE FROM record WHERE kind = $1 AND key = $2";

pub(super) fn packed(row: &Row) -> Result<Packed, Damage> {
    let codec: i16 = value(row, "codec")?;
    Ok(Packed {
        codec: codec.into(),
        bytes: length(row, "bytes")?,
        content: value(row, "content")?,
        checksum: value(row, "checksum")?,
        record: Record {
            key: digest(row, "key")?,
            document: Document {
                kind: kind(row)?,
                session: optional_text(row, "session")?,
                speaker: optional_text(row, "speaker")?,
                time: time(row, "time")?,
                text: String::new(),
            },
            meta: optional_text(row, "meta")?,
            expires: time(row, "expires")?,
        },
    })
}

pub(super) fn kind(row: &Row) -> Result<Kind, Damage> {
    text(row, "kind")?.parse().map_err(|error: NotAKind| error.to_string())
}

pub(super) fn name(row: &Row) -> Result<DocumentId, Damage> {
    Ok(DocumentId::Record(kind(row)?, digest(row, "key")?))
}
