//! What may be dropped from an archive.

use jiff::{SignedDuration, Timestamp};

/// For how long a cached result is kept, in days. It saves a call when the same text is compressed again in the same
/// way, which happens soon after or never.
pub const RESULT_DAYS: u32 = 30;

/// The records to drop. Originals are kept unless they are selected.
#[derive(Clone, Copy, Debug)]
pub struct Cleanup {
    /// Records that expired before this time go.
    pub now: Timestamp,
    /// Cached results from before this time go.
    pub results_before: Timestamp,
    /// Originals that operations from before this time removed go too.
    pub originals_before: Option<Timestamp>,
}

impl Cleanup {
    /// The policy at the time `now`: results of more than [`RESULT_DAYS`] days and what has expired. With
    /// `original_age` also the originals of operations that are older than that.
    #[must_use]
    pub fn at(now: Timestamp, original_age: Option<SignedDuration>) -> Self {
        Self {
            now,
            results_before: before(now, SignedDuration::from_hours(24 * i64::from(RESULT_DAYS))),
            originals_before: original_age.map(|age| before(now, age)),
        }
    }
}

fn before(now: Timestamp, age: SignedDuration) -> Timestamp {
    now.checked_sub(age).unwrap_or(Timestamp::MIN)
}

/// Whether what may go goes, or is only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// It goes, and the space it took is given back.
    Drop,
    /// It is counted.
    Count,
}

/// The number of dropped records, or of those that would be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Cached results.
    pub results: u64,
    /// Other records.
    pub expired: u64,
    /// Notes of lines that were removed.
    pub originals: u64,
    /// Operations whose originals they were, which can no longer be undone.
    pub operations: u64,
    /// Lines that nothing refers to any more.
    pub lines: u64,
    /// What lines and records took up in the archive, in bytes.
    pub bytes: u64,
}

/// The contents of an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Operations.
    pub operations: u64,
    /// Notes of lines that were removed.
    pub originals: u64,
    /// Different lines.
    pub lines: u64,
    /// The length of these lines in bytes.
    pub line_bytes: u64,
    /// Records.
    pub records: u64,
}
