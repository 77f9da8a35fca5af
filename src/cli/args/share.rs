//! A part of a whole, as it is typed.

/// A part of a whole: above 0 and up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

/// Reads a part: `0.6` or `60%`.
pub(crate) fn share(text: &str) -> Result<Share, String> {
    let number = |text: &str| text.parse::<f64>().ok();
    let part = text.strip_suffix('%').map_or_else(|| number(text), |percent| Some(number(percent)? / 100.0));
    let part = part.filter(|part| *part > 0.0 && *part <= 1.0);
    part.map(Share).ok_or_else(|| "must be above 0 and at most 1, such as 0.85 or 85%".to_owned())
}

impl Share {
    /// The part of `whole`, rounded to the nearest, and 1 at least.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the part is above 0 and up to 1, and no context window comes near 2^52 tokens"
    )]
    pub(crate) fn of(self, whole: u64) -> u64 {
        ((whole as f64 * self.0).round() as u64).max(1)
    }

    /// The part of this part.
    pub(crate) fn times(self, part: Self) -> Self {
        Self(self.0 * part.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_numbers_and_as_percentages() {
        for (text, of_200k) in [("0.85", 170_000), ("60%", 120_000), ("1", 200_000), ("100%", 200_000), ("0.5%", 1_000)]
        {
            assert_eq!(share(text).unwrap().of(200_000), of_200k, "{text}");
        }
        for text in ["", "%", "0", "0%", "101%", "1.1", "-5%", "60 %", "NaN", "nan%", "inf"] {
            assert_eq!(share(text), Err("must be above 0 and at most 1, such as 0.85 or 85%".to_owned()), "{text}");
        }
    }
}
