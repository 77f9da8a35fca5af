//! Ages and sizes as people type them: `30d`, `2GB`.

use jiff::SignedDuration;

/// An age: a whole number of hours, days, weeks or years of 365 days, such as `12h`, `30d`, `8w`, `1y`.
///
/// # Errors
/// What is wrong with it, for a person.
pub(super) fn age(text: &str) -> Result<SignedDuration, String> {
    let (number, unit) = parts(text);
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 24 * 7,
        "y" => 24 * 365,
        _ => 0,
    };
    let age = number.parse::<i64>().ok().filter(|_| hours > 0).and_then(|number| number.checked_mul(hours));
    // Nothing is older than the calendar of `jiff`.
    age.filter(|hours| *hours <= 24 * 365 * 9_000)
        .map(SignedDuration::from_hours)
        .ok_or_else(|| format!("{text:?} is no age, such as 12h, 30d, 8w or 1y"))
}

/// A size in decimal units, such as `500MB` or `1.5GB`, with or without a space; a bare number counts bytes.
///
/// # Errors
/// What is wrong with it, for a person.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = parts(text);
    let wrong = || format!("{text:?} is no size, such as 500MB or 2GB");
    let unit: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    // Digit by digit, so that no figure is rounded.
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) {
        return Err(wrong());
    }
    let mut bytes = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit)).ok_or_else(wrong)?;
    let mut worth = unit;
    for digit in part.bytes() {
        worth /= 10;
        bytes = bytes.saturating_add(u64::from(digit - b'0') * worth);
    }
    Ok(bytes)
}

/// The number at the beginning, and what stands behind it.
fn parts(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-13, W-05
    #[test]
    fn n_13_ages_and_sizes_are_read_as_people_type_them() {
        for (text, hours) in [("12h", 12), ("30d", 720), ("2w", 336), ("1y", 8_760), ("0d", 0)] {
            assert_eq!(age(text), Ok(SignedDuration::from_hours(hours)));
        }
        for text in ["", "d", "30", "30 days", "-3d", "1.5d", "99999999999d", "9223372036854775807w"] {
            assert_eq!(age(text), Err(format!("{text:?} is no age, such as 12h, 30d, 8w or 1y")));
        }
        for (text, bytes) in [
            ("0", 0),
            ("2GB", 2_000_000_000),
            ("500 MB", 500_000_000),
            ("1.5gb", 1_500_000_000),
            ("0.0005k", 0),
            ("7T", 7_000_000_000_000),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "1.GB", ".5GB", "2GiB", "-1MB", "1e9", "99999999TB", "1.2.3MB"] {
            assert_eq!(size(text), Err(format!("{text:?} is no size, such as 500MB or 2GB")));
        }
    }
}
