//! What a column holds: lengths, paths, and values that are not what was stored.

use std::error::Error;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::{Type, Value, ValueRef};

use crate::path_bytes;

/// A length as `SQLite` holds it: signed. No file is long enough for the difference to matter.
pub(super) fn to_signed(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A length that was stored.
pub(super) fn length(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// A time as `SQLite` holds it: in nanoseconds since 1970. Those that no 64 bits hold become the nearest.
pub(super) fn to_nanoseconds(time: Timestamp) -> i64 {
    let nanoseconds = time.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// A time that was stored, or none.
pub(super) fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    let time = row.get::<_, Option<i64>>(column)?.map(|it| Timestamp::from_nanosecond(it.into())).transpose();
    time.map_err(|error| damaged(Type::Integer, error))
}

/// The error for a value that is not what was stored.
pub(super) fn damaged(kind: Type, error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
}

/// The error for a value that cannot be stored.
pub(super) fn unstorable(error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// A path as text where it is UTF-8, so that people can read the table, else as its bytes.
pub(super) fn path_value(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => Value::Text(text.to_owned()),
        None => Value::Blob(path_bytes::to_bytes(path)),
    }
}

/// The path that [`path_value`] stored.
pub(super) fn path_from(value: ValueRef<'_>) -> Option<PathBuf> {
    match value {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).as_ref().into()),
        ValueRef::Blob(bytes) => Some(path_bytes::from_bytes(bytes)),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    }
}
