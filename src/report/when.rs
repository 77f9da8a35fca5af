//! Times as text.

use jiff::{Timestamp, Unit};

/// `time` to the second, in UTC: `2026-03-02T09:00:00Z`.
pub(crate) fn to_second(time: Timestamp) -> String {
    time.round(Unit::Second).unwrap_or(time).to_string()
}
