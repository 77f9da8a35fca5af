//! The values that are one word: numbers, `true`, `false` and `null`.

/// Whether `text` is a JSON number, `true`, `false` or `null`.
#[inline]
pub(super) fn is_scalar(text: &[u8]) -> bool {
    match text {
        [b't', ..] => text == b"true",
        [b'f', ..] => text == b"false",
        [b'n', ..] => text == b"null",
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => true,
        _ => is_number(text),
    }
}

fn is_number(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let after_integer = match unsigned {
        [b'0', rest @ ..] => rest,
        [b'1'..=b'9', ..] => after_digits(unsigned),
        _ => return false,
    };
    let after_fraction = match after_integer {
        [b'.', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => after_digits(rest),
        [b'.', ..] => return false,
        rest => rest,
    };
    match after_fraction {
        [] => true,
        [b'e' | b'E', b'+' | b'-', digits @ ..] | [b'e' | b'E', digits @ ..] => {
            !digits.is_empty() && after_digits(digits).is_empty()
        }
        _ => false,
    }
}

fn after_digits(text: &[u8]) -> &[u8] {
    let n_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(n_digits..).unwrap_or_default()
}
