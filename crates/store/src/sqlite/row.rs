//! What a column holds that is no value of the store: those of the index of `ctxc find`.

use std::error::Error;

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;

use crate::store::value::Value;

/// A length as `SQLite` holds it: signed. No file is long enough for the difference to matter.
pub(super) fn to_signed(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A length that was stored.
pub(super) fn length(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
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

/// A time as `SQLite` holds it.
pub(super) fn time_value(time: Timestamp) -> Value {
    time.into()
}
