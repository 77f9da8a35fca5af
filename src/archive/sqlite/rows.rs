//! Rows as records and back.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rusqlite::types::{Type, Value, ValueRef};
use rusqlite::{Row, Statement, named_params};

use crate::archive::{FileRef, Operation, StoredOriginal, recipe};
use crate::text::Digest;

/// The number of the body with a digest.
pub(super) const BODY_ID: &str = "SELECT id FROM body WHERE substr(digest, 1, 8) = substr(?1, 1, 8) AND digest = ?1";

/// The body with a digest.
pub(super) const BODY: &str = "SELECT codec, content, bytes FROM body
    WHERE substr(digest, 1, 8) = substr(?1, 1, 8) AND digest = ?1";

/// The originals with a uuid, newest first; rows for [`original`].
pub(super) const ORIGINALS_BY_UUID: &str = "SELECT digest, bytes, uuid, replaced_by
    FROM original JOIN body ON body.id = original.body
    WHERE substr(uuid, 1, 8) = substr(?1, 1, 8) AND uuid = ?1 ORDER BY seq DESC";

/// The newest original that a line replaced, as a row for [`original`].
pub(super) const ORIGINAL_BY_LINE: &str = "SELECT digest, bytes, uuid, replaced_by
    FROM original JOIN body ON body.id = original.body
    WHERE substr(replaced_by, 1, 8) = substr(?1, 1, 8) AND replaced_by = ?1 ORDER BY seq DESC LIMIT 1";

/// The newest operation with an output, as a row for [`operation`].
pub(super) const OPERATION_BY_OUTPUT: &str =
    "SELECT * FROM operation WHERE output_digest = ? ORDER BY (source_digest <> output_digest) DESC, seq DESC LIMIT 1";

/// The operations of a session, oldest first; rows for [`operation`].
pub(super) const OPERATIONS_BY_SESSION: &str = "SELECT * FROM operation WHERE session = ? ORDER BY seq";

/// The operation with an id, as a row for [`operation`].
pub(super) const OPERATION_BY_ID: &str = "SELECT * FROM operation WHERE id = ?";

/// What [`insert_operation`] runs.
pub(super) const INSERT_OPERATION: &str = "INSERT INTO operation (id, verb, command, session, time,
        source_path, source_digest, source_bytes, output_path, output_digest, output_bytes,
        session_ids, recipe, report)
    VALUES (:id, :verb, :command, :session, :time,
        :source_path, :source_digest, :source_bytes, :output_path, :output_digest, :output_bytes,
        :session_ids, :recipe, :report)";

/// A length as `SQLite` holds it: signed. No file is long enough for the difference to matter.
pub(super) fn to_signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// A length that was stored.
pub(super) fn length(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

pub(super) fn original(row: &Row<'_>) -> rusqlite::Result<StoredOriginal> {
    Ok(StoredOriginal {
        digest: Digest::from_bytes(row.get("digest")?),
        bytes: length(row, "bytes")?,
        uuid: row.get("uuid")?,
        replaced_by: row.get::<_, Option<_>>("replaced_by")?.map(Digest::from_bytes),
    })
}

pub(super) fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let file = |path: &str, digest: &str, bytes: &str| {
        Ok::<_, rusqlite::Error>(FileRef {
            path: path_from(row.get_ref(path)?),
            digest: Digest::from_bytes(row.get(digest)?),
            bytes: length(row, bytes)?,
        })
    };
    Ok(Operation {
        id: row.get("id")?,
        verb: row.get("verb")?,
        command: row.get("command")?,
        session: row.get("session")?,
        time: row.get::<_, String>("time")?.parse().map_err(|error| damaged(Type::Text, error))?,
        source: file("source_path", "source_digest", "source_bytes")?,
        output: file("output_path", "output_digest", "output_bytes")?,
        session_ids: serde_json::from_str(row.get_ref("session_ids")?.as_str()?)
            .map_err(|error| damaged(Type::Text, error))?,
        recipe: recipe::decode(row.get_ref("recipe")?.as_blob()?).map_err(|error| damaged(Type::Blob, error))?,
        report: row.get("report")?,
    })
}

pub(super) fn insert_operation(insert: &mut Statement<'_>, operation: &Operation) -> rusqlite::Result<()> {
    let to_sql_error = |error| rusqlite::Error::ToSqlConversionFailure(error);
    let session_ids = serde_json::to_string(&operation.session_ids).map_err(|error| to_sql_error(error.into()))?;
    let recipe = recipe::encode(&operation.recipe).map_err(|error| to_sql_error(error.into()))?;
    insert.execute(named_params! {
        ":id": operation.id,
        ":verb": operation.verb,
        ":command": operation.command,
        ":session": operation.session,
        ":time": operation.time.to_string(),
        ":source_path": operation.source.path.as_deref().map(path_value),
        ":source_digest": operation.source.digest.as_bytes(),
        ":source_bytes": to_signed(operation.source.bytes),
        ":output_path": operation.output.path.as_deref().map(path_value),
        ":output_digest": operation.output.digest.as_bytes(),
        ":output_bytes": to_signed(operation.output.bytes),
        ":session_ids": session_ids,
        ":recipe": recipe,
        ":report": operation.report,
    })?;
    Ok(())
}

fn damaged(kind: Type, error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
}

/// A path as text where it is UTF-8, so that people can read the table, else as its bytes.
fn path_value(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => Value::Text(text.to_owned()),
        None => Value::Blob(path.as_os_str().as_encoded_bytes().to_vec()),
    }
}

fn path_from(value: ValueRef<'_>) -> Option<PathBuf> {
    match value {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).as_ref().into()),
        ValueRef::Blob(bytes) => Some(path_from_bytes(bytes)),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}

#[cfg(unix)]
fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).into()
}

/// Elsewhere no safe way leads back from odd bytes; the path is only shown, so an approximation serves.
#[cfg(not(unix))]
fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    OsStr::new(String::from_utf8_lossy(bytes).as_ref()).into()
}
