//! Objects: the queries and what their rows hold.

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::row::{damaged, length, to_signed, unstorable};
use crate::body::Packer;
use crate::object::{Label, PackedObject};
use crate::{LineId, NotAnObjectKind, Object, ObjectKind};
use ctxc_transcript::text::Digest;

/// The object with a key and a kind, as a row for [`packed`].
pub(super) const BY_KEY: &str = "SELECT * FROM object WHERE key = ?1 AND kind = ?2";

/// The objects of a group and a kind, oldest first; rows for [`label`].
pub(super) const BY_GROUP: &str = "SELECT kind, key, \"group\", head, checksum FROM object
    WHERE \"group\" = ?1 AND kind = ?2 ORDER BY seq";

/// The objects of a kind, oldest first; rows for [`label`].
pub(super) const BY_KIND: &str = "SELECT kind, key, \"group\", head, checksum FROM object WHERE kind = ?1 ORDER BY seq";

/// All objects; rows for [`packed`].
pub(super) const ALL: &str = "SELECT * FROM object";

pub(super) fn label(row: &Row<'_>) -> rusqlite::Result<Label> {
    let kind = row.get_ref("kind")?.as_str()?.parse();
    Ok(Label {
        kind: kind.map_err(|error: NotAnObjectKind| damaged(Type::Text, error))?,
        key: Digest::from_bytes(row.get("key")?),
        group: row.get::<_, Option<_>>("group")?.map(Digest::from_bytes),
        head: row.get("head")?,
        checksum: row.get("checksum")?,
    })
}

pub(super) fn packed(row: &Row<'_>) -> rusqlite::Result<PackedObject> {
    let (codec, bytes) = (row.get("codec")?, length(row, "bytes")?);
    Ok(PackedObject { label: label(row)?, codec, bytes, content: row.get("content")? })
}

/// Stores `object` in the place of an older one of its kind and key.
pub(super) fn insert(connection: &Connection, packer: &mut Packer, object: &Object) -> rusqlite::Result<()> {
    let PackedObject { label, codec, bytes, content } = PackedObject::pack(object, packer).map_err(unstorable)?;
    delete(connection, label.kind, label.key)?;
    let insert = "INSERT INTO object (kind, key, \"group\", head, checksum, codec, bytes, content)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute(params![
        label.kind.name(),
        label.key.as_bytes(),
        label.group.as_ref().map(Digest::as_bytes),
        label.head,
        label.checksum,
        codec,
        to_signed(bytes),
        content
    ])?;
    Ok(())
}

/// Drops the object of this kind with this key.
pub(super) fn delete(connection: &Connection, kind: ObjectKind, key: Digest) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM object WHERE key = ? AND kind = ?")?
        .execute((key.as_bytes(), kind.name()))?;
    Ok(())
}

/// The first of `lines` that is not there. Lines that were put one after the other are looked for together.
pub(super) fn missing_line(connection: &Connection, lines: &[LineId]) -> rusqlite::Result<Option<LineId>> {
    let mut count = connection.prepare_cached("SELECT count(*) FROM body WHERE id BETWEEN ? AND ?")?;
    for run in lines.chunk_by(|left, right| left.0.checked_add(1) == Some(right.0)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let n_found: i64 = count.query_row([to_signed(first.0), to_signed(last.0)], |row| row.get(0))?;
        if n_found == to_signed(run.len() as u64) {
            continue;
        }
        for line in run {
            if count.query_row([to_signed(line.0); 2], |row| row.get::<_, i64>(0))? == 0 {
                return Ok(Some(*line));
            }
        }
    }
    Ok(None)
}
