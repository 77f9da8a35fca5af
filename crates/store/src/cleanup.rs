//! The policy for dropping data from an archive.

use jiff::{SignedDuration, Timestamp};

/// The lifetime of a cached result, in days. It saves a call when the same text is compressed again in the same way, which
/// happens soon or never.
pub const RESULT_DAYS: u32 = 30;

/// The age limits of data to drop.
#[derive(Clone, Copy, Debug)]
pub struct CleanupLimits {
    /// Records that expired before this time are dropped.
    pub expired_before: Timestamp,
    /// Cached results from before this time are dropped.
    pub results_before: Timestamp,
    /// Originals of operations from before this time are dropped; none without it.
    pub originals_before: Option<Timestamp>,
}

impl CleanupLimits {
    /// The policy at the time `now`: results older than [`RESULT_DAYS`] days and expired records, with `original_age` also the
    /// originals of operations older than that.
    #[must_use]
    pub fn at_time(now: Timestamp, original_age: Option<SignedDuration>) -> Self {
        Self {
            expired_before: now,
            results_before: time_before(now, SignedDuration::from_hours(24 * i64::from(RESULT_DAYS))),
            originals_before: original_age.map(|age| time_before(now, age)),
        }
    }
}

fn time_before(now: Timestamp, age: SignedDuration) -> Timestamp {
    now.checked_sub(age).unwrap_or(Timestamp::MIN)
}

/// The mode of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepMode {
    /// Drop the data and release its space.
    Drop,
    /// Only count the data.
    Count,
}

/// The number of dropped records, or of those that would be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedCounts {
    /// Cached results.
    pub results: u64,
    /// Other records.
    pub expired: u64,
    /// Removals of lines.
    pub originals: u64,
    /// Operations of the dropped originals, which can no longer be undone.
    pub operations: u64,
    /// Lines that nothing refers to any more.
    pub lines: u64,
    /// The stored size of the dropped lines and records, in bytes.
    pub bytes: u64,
}

/// The contents of an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Contents {
    /// Operations.
    pub operations: u64,
    /// Removals of lines.
    pub originals: u64,
    /// Different lines.
    pub lines: u64,
    /// The length of these lines in bytes.
    pub line_bytes: u64,
    /// Records.
    pub records: u64,
}
