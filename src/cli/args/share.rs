//! A part of a whole, as it is typed.

/// A part of a whole: above 0 and up to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(pub(super) f64);

/// Reads one.
pub(super) fn share(text: &str) -> Result<Share, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.map(Share).ok_or_else(|| "it is no number above 0 and up to 1, such as 0.85".to_owned())
}

impl Share {
    /// The part of `whole`, rounded to the nearest, and 1 at least.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the part is above 0 and up to 1, and no context window comes near 2^52 tokens"
    )]
    pub(super) fn of(self, whole: u64) -> u64 {
        ((whole as f64 * self.0).round() as u64).max(1)
    }
}
