//! The values that are one word: numbers, `true`, `false` and `null`.

/// The length of the number, `true`, `false` or `null` that `text` starts with; `None` if it starts with none. The caller
/// checks the bytes after it.
#[inline]
pub(super) fn scalar_len(text: &[u8]) -> Option<usize> {
    match text {
        [b'1'..=b'9', ..] => {
            let len = n_digits(text);
            match text.get(len) {
                Some(b'.' | b'e' | b'E') => number_len(text),
                _ => Some(len),
            }
        }
        [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => Some(4),
        [b'f', b'a', b'l', b's', b'e', ..] => Some(5),
        _ => number_len(text),
    }
}

fn number_len(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let rest = match rest {
        [b'0', rest @ ..] => rest,
        [b'1'..=b'9', ..] => skip_digits(rest),
        _ => return None,
    };
    let rest = match rest {
        [b'.', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => skip_digits(rest),
        [b'.', ..] => return None,
        rest => rest,
    };
    let rest = match rest {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => {
            rest.first().filter(|digit| digit.is_ascii_digit())?;
            skip_digits(rest)
        }
        rest => rest,
    };
    Some(text.len() - rest.len())
}

#[inline]
fn n_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn skip_digits(text: &[u8]) -> &[u8] {
    text.get(n_digits(text)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_far_as_json_does() {
        let cases = [
            ("0", Some(1)),
            ("01", Some(1)),
            ("-0.5e+10,", Some(8)),
            ("12]", Some(2)),
            ("12.50", Some(5)),
            ("1E3}", Some(3)),
            ("true", Some(4)),
            ("falsehood", Some(5)),
            ("null", Some(4)),
            ("-", None),
            ("+1", None),
            (".5", None),
            ("1.", None),
            ("1e", None),
            ("1e+", None),
            ("tru", None),
            ("NaN", None),
            ("", None),
        ];
        for (text, len) in cases {
            assert_eq!(scalar_len(text.as_bytes()), len, "{text}");
        }
    }
}
