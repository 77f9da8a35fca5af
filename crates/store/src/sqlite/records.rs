//! Records: the queries and what their rows hold.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, named_params};

use super::row::{damaged, length, time, to_nanoseconds, to_signed, unstorable};
use crate::body::Packer;
use crate::packed::{Packed, checksum};
use crate::{Document, DocumentId, Kind, NotAKind, Record};
use ctxc_transcript::text::Digest;

/// The record with a key and a kind, as a row for [`packed`].
pub(super) const BY_KEY: &str = "SELECT * FROM record WHERE key = ?1 AND kind = ?2";

/// The newest records that a filter admits, newest first; rows for [`packed`].
pub(super) const FILTERED: &str = "SELECT * FROM record WHERE (?1 IS NULL OR kind = ?1)
    AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR speaker = ?3) ORDER BY seq DESC LIMIT ?4";

/// The kinds and keys of the records whose key lies between two, in their order; rows for [`name`].
pub(super) const BY_PREFIX: &str = "SELECT kind, key FROM record WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3";

/// The kinds and keys of all records, oldest first; rows for [`name`].
pub(super) const ALL: &str = "SELECT kind, key FROM record ORDER BY seq";

pub(super) fn packed(row: &Row<'_>) -> rusqlite::Result<Packed> {
    Ok(Packed {
        codec: row.get("codec")?,
        bytes: length(row, "bytes")?,
        content: row.get("content")?,
        checksum: row.get("checksum")?,
        record: Record {
            key: Digest::from_bytes(row.get("key")?),
            document: Document {
                kind: kind(row)?,
                session: row.get("session")?,
                speaker: row.get("speaker")?,
                time: time(row, "time")?,
                text: String::new(),
            },
            meta: row.get("meta")?,
            expires: time(row, "expires")?,
        },
    })
}

pub(super) fn kind(row: &Row<'_>) -> rusqlite::Result<Kind> {
    row.get_ref("kind")?.as_str()?.parse().map_err(|error: NotAKind| damaged(Type::Text, error))
}

pub(super) fn name(row: &Row<'_>) -> rusqlite::Result<DocumentId> {
    Ok(DocumentId::Record(kind(row)?, Digest::from_bytes(row.get("key")?)))
}

/// Stores `record` in the place of an older one of its key and kind.
pub(super) fn insert(connection: &Connection, packer: &mut Packer, record: &Record) -> rusqlite::Result<()> {
    let Record { key, document, meta, expires } = record;
    let (codec, content) = packer.pack(document.text.as_bytes()).map_err(unstorable)?;
    // What is indexed of an older one goes with it, so it is not updated.
    delete(connection, document.kind, *key)?;
    connection
        .prepare_cached(
            "INSERT INTO record (kind, key, session, speaker, time, codec, bytes, content, checksum, meta, expires)
            VALUES (:kind, :key, :session, :speaker, :time, :codec, :bytes, :content, :checksum, :meta, :expires)",
        )?
        .execute(named_params! {
            ":kind": document.kind.name(),
            ":key": key.as_bytes(),
            ":session": document.session,
            ":speaker": document.speaker,
            ":time": document.time.map(to_nanoseconds),
            ":codec": codec,
            ":bytes": to_signed(document.text.len() as u64),
            ":content": content,
            ":checksum": checksum(&document.text),
            ":meta": meta,
            ":expires": expires.map(to_nanoseconds),
        })?;
    Ok(())
}

/// Drops the record of this kind with this key, and what is indexed of it.
pub(super) fn delete(connection: &Connection, kind: Kind, key: Digest) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM record WHERE key = ? AND kind = ?")?
        .execute((key.as_bytes(), kind.name()))?;
    Ok(())
}
