//! What a row of a database holds, whichever database it is.

use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use jiff::Timestamp;

use crate::path_bytes;
use crate::{Kind, LineId, NotAKind, NotAnObjectKind, ObjectKind};
use ctxc_transcript::text::Digest;

/// Why a row is not what was stored.
pub(crate) type Damage = String;

/// What a column holds, or a parameter of a statement is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// A path, which need not be UTF-8.
    Path(Vec<u8>),
    /// What a column is equal to any of: `column = ANY($1)`, as the first parameter.
    List(Vec<Value>),
}

/// The parameters of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::store::value::Value::from($value)),*] };
}
pub(crate) use values;

impl Value {
    /// Any of `items`.
    pub(crate) fn list<T: Into<Self>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// Signed. No file is long enough for the difference to matter.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<LineId> for Value {
    fn from(line: LineId) -> Self {
        Self::from(line.0)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<Digest> for Value {
    fn from(digest: Digest) -> Self {
        Self::Bytes(digest.as_bytes().to_vec())
    }
}

impl From<&Path> for Value {
    fn from(path: &Path) -> Self {
        Self::Path(path_bytes::to_bytes(path))
    }
}

/// In nanoseconds since 1970. Those that no 64 bits hold become the nearest.
impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        let nanoseconds = time.as_nanosecond();
        Self::Int(i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row, whose columns are taken in their order.
pub(crate) struct Row(IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The value of the next column.
    pub(crate) fn get<T: FromValue>(&mut self) -> Result<T, Damage> {
        T::from_value(self.0.next().unwrap_or(Value::Null))
    }
}

/// What a column can hold.
pub(crate) trait FromValue: Sized {
    fn from_value(value: Value) -> Result<Self, Damage>;
}

fn odd<T>() -> Result<T, Damage> {
    Err("a value of another type than the one that was stored".to_owned())
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Result<Self, Damage> {
        if let Value::Int(number) = value { Ok(number) } else { odd() }
    }
}

impl FromValue for u64 {
    fn from_value(value: Value) -> Result<Self, Damage> {
        i64::from_value(value).map(|number| Self::try_from(number).unwrap_or(0))
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self, Damage> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self, Damage> {
        if let Value::Real(number) = value { Ok(number) } else { odd() }
    }
}

impl FromValue for LineId {
    fn from_value(value: Value) -> Result<Self, Damage> {
        i64::from_value(value).map(|id| Self(id.cast_unsigned()))
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self, Damage> {
        if let Value::Text(text) = value { Ok(text) } else { odd() }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value) -> Result<Self, Damage> {
        match value {
            Value::Bytes(bytes) | Value::Path(bytes) => Ok(bytes),
            // No bytes at all, as a statement says it in either dialect.
            Value::Text(text) if text.is_empty() => Ok(Self::new()),
            _ => odd(),
        }
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: Value) -> Result<Self, Damage> {
        let Value::List(items) = value else { return odd() };
        items.into_iter().map(String::from_value).collect()
    }
}

impl FromValue for Digest {
    fn from_value(value: Value) -> Result<Self, Damage> {
        let bytes = Vec::from_value(value)?;
        let array = bytes.as_slice().try_into();
        array.map(Self::from_bytes).map_err(|_| format!("a digest of {} bytes", bytes.len()))
    }
}

impl FromValue for PathBuf {
    fn from_value(value: Value) -> Result<Self, Damage> {
        match value {
            Value::Text(text) => Ok(text.into()),
            value => Vec::from_value(value).map(|bytes| path_bytes::from_bytes(&bytes)),
        }
    }
}

/// In nanoseconds since 1970, or as text.
impl FromValue for Timestamp {
    fn from_value(value: Value) -> Result<Self, Damage> {
        let time = match value {
            Value::Text(text) => text.parse(),
            value => Self::from_nanosecond(i64::from_value(value)?.into()),
        };
        time.map_err(|error| error.to_string())
    }
}

impl FromValue for Kind {
    fn from_value(value: Value) -> Result<Self, Damage> {
        String::from_value(value)?.parse().map_err(|error: NotAKind| error.to_string())
    }
}

impl FromValue for ObjectKind {
    fn from_value(value: Value) -> Result<Self, Damage> {
        String::from_value(value)?.parse().map_err(|error: NotAnObjectKind| error.to_string())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self, Damage> {
        if value == Value::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }
}
