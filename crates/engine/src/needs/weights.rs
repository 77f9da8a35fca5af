//! The weights of the features, as `benches/keep/needs/learn.py` writes them.

use super::uses::FEATURES;

/// The weight of each feature, in the order of [`FEATURES`].
#[rustfmt::skip]
const WEIGHTS: [f32; FEATURES.len()] = [
    -0.196, // path
    0.209, // file
    -2.494, // url
    -1.693, // number
    -9.932, // version
    0.428, // hash
    -0.099, // flag
    1.138, // lines
    0.247, // messages
    0.241, // age
    -0.274, // messages after
    -0.662, // span
    -0.180, // in prompts
    0.015, // in answers
    0.109, // in calls
    -0.286, // in edits
    -0.277, // in commands
    -0.545, // in results
    2.528, // own
    -0.934, // in a prompt
    0.315, // in an edit
    0.075, // own and in a result
    0.148, // crowd
    0.290, // length
    -0.668, // conversation
];

const BIAS: f32 = -1.558;

/// The chance, between 0 and 1, that the agent writes a fact with these features again.
pub(super) fn chance(features: [f32; FEATURES.len()]) -> f32 {
    let sum: f32 = features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum();
    let odds = exp2(sum + BIAS);
    odds / (1.0 + odds)
}

/// `2^x`, between whole exponents by a straight line, so that all machines agree on it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to exponents of a float")]
fn exp2(x: f32) -> f32 {
    let x = x.clamp(-60.0, 60.0);
    let whole = x.floor();
    f32::from_bits(((whole + 127.0) as u32) << 23) * (1.0 + x - whole)
}
