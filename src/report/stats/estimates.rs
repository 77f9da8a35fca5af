//! Tokens by each estimate.

use schemars::JsonSchema;
use serde::Serialize;

use ctxc_transcript::Calibration;
use ctxc_transcript::text::Tokens;

/// Tokens by each estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Estimates {
    /// `chars4` tokens: characters / 4.
    pub(crate) chars4: Tokens,
    /// The same, scaled to the usage that the session records.
    pub(crate) calibrated: Tokens,
}

impl Estimates {
    pub(super) fn of(chars4: Tokens, calibration: &Calibration) -> Self {
        Self { chars4, calibrated: calibration.scale_to_api(chars4) }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.chars4 += other.chars4;
        self.calibrated += other.calibrated;
    }
}
