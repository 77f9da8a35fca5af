//! The `Retry-After` header.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// The wait that the header's `value` requests at `now`: a number of seconds, or the time until a date, zero for a past one.
/// `None` if it is neither.
pub(super) fn parse_retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    // Some servers send a fraction.
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let due = DateTimeParser::new().relaxed_weekday(true).parse_timestamp(value).ok()?;
    let wait = due.duration_since(now);
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn r_04_both_forms_are_understood() {
        let now: Timestamp = "2026-11-06T08:49:37Z".parse().unwrap();
        let cases = [
            ("7", Some(7.0)),
            (" 0 ", Some(0.0)),
            ("1.5", Some(1.5)),
            ("Fri, 06 Nov 2026 08:50:07 GMT", Some(30.0)),
            ("Fri, 06 Nov 2026 08:49:07 GMT", Some(0.0)),
            ("-3", None),
            ("soon", None),
            ("", None),
            ("1e400", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(parse_retry_after(value, now), seconds.map(Duration::from_secs_f64), "{value:?}");
        }
    }
}
