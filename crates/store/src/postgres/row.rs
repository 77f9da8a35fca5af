//! What a column holds: lengths, times, paths and texts.
//!
//! The server takes no NUL in a text, and a transcript may hold one anywhere. So in what it gets, U+0001 stands before a
//! digit: `0` for NUL, `1` for itself.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::path_bytes;
use ctxc_transcript::text::Digest;

/// Why a row is not what was stored.
pub(super) type Damage = String;

const ESCAPE: char = '\u{1}';

/// `text` as the server takes it.
pub(super) fn text_value(text: &str) -> String {
    text.replace(ESCAPE, "\u{1}1").replace('\0', "\u{1}0")
}

/// The text that [`text_value`] made.
pub(super) fn text_from(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE => text.push(if chars.next() == Some('0') { '\0' } else { ESCAPE }),
            c => text.push(c),
        }
    }
    text
}

/// The value of a column.
pub(super) fn value<'r, T: FromSql<'r>>(row: &'r Row, column: &str) -> Result<T, Damage> {
    row.try_get(column).map_err(|error| error.to_string())
}

/// A text that [`text_value`] made.
pub(super) fn text(row: &Row, column: &str) -> Result<String, Damage> {
    value::<&str>(row, column).map(text_from)
}

/// A text that [`text_value`] made, or none.
pub(super) fn optional_text(row: &Row, column: &str) -> Result<Option<String>, Damage> {
    Ok(value::<Option<&str>>(row, column)?.map(text_from))
}

/// A digest.
pub(super) fn digest(row: &Row, column: &str) -> Result<Digest, Damage> {
    digest_from(value(row, column)?)
}

/// A digest, or none.
pub(super) fn optional_digest(row: &Row, column: &str) -> Result<Option<Digest>, Damage> {
    value::<Option<&[u8]>>(row, column)?.map(digest_from).transpose()
}

/// A digest of its bytes.
pub(super) fn digest_from(bytes: &[u8]) -> Result<Digest, Damage> {
    bytes.try_into().map(Digest::from_bytes).map_err(|_| format!("a digest of {} bytes", bytes.len()))
}

/// A length as the server holds it: signed. No file is long enough for the difference to matter.
pub(super) fn to_signed(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A length or a count.
pub(super) fn length(row: &Row, column: &str) -> Result<u64, Damage> {
    Ok(u64::try_from(value::<i64>(row, column)?).unwrap_or(0))
}

/// A time as the server holds it: in nanoseconds since 1970. Those that no 64 bits hold become the nearest.
pub(super) fn to_nanoseconds(time: Timestamp) -> i64 {
    let nanoseconds = time.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// A time that was stored, or none.
pub(super) fn time(row: &Row, column: &str) -> Result<Option<Timestamp>, Damage> {
    let time = value::<Option<i64>>(row, column)?.map(|it| Timestamp::from_nanosecond(it.into())).transpose();
    time.map_err(|error| error.to_string())
}

/// A path as its bytes, for not all are UTF-8.
pub(super) fn path_value(path: &Path) -> Vec<u8> {
    path_bytes::to_bytes(path)
}

/// The path that [`path_value`] stored, or none.
pub(super) fn path(row: &Row, column: &str) -> Result<Option<PathBuf>, Damage> {
    Ok(value::<Option<&[u8]>>(row, column)?.map(path_bytes::from_bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        // A-02, T-01
        #[test]
        fn a_02_any_text_comes_back_from_what_the_server_takes(text in any::<String>(), n in 0..3_usize) {
            let text = format!("{}{text}{}", "\0\u{1}".repeat(n), "\u{1}0".repeat(n));
            let value = text_value(&text);
            prop_assert!(!value.contains('\0'));
            prop_assert_eq!(text_from(&value), text);
        }
    }
}
