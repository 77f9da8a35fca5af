//! JSON strings as they stand in a file: decoded, measured and written without a JSON value in between.

use std::borrow::Cow;

/// The characters that `raw`, the inside of a JSON string without its quotes, stands for.
///
/// Never fails: a lone surrogate, an escape that JSON does not know and invalid UTF-8 become U+FFFD.
#[must_use]
pub fn decode(raw: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw) else {
        return String::from_utf8_lossy(raw);
    };
    let mut text = String::with_capacity(raw.len());
    let (plain, mut rest) = raw.split_at(first);
    text.push_str(&String::from_utf8_lossy(plain));
    while !rest.is_empty() {
        rest = decode_escape(rest, &mut text);
        let plain_len = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        let (plain, escaped) = rest.split_at(plain_len);
        text.push_str(&String::from_utf8_lossy(plain));
        rest = escaped;
    }
    Cow::Owned(text)
}

/// Decodes the escape at the head of `raw` (which starts with a backslash) and returns what follows it.
fn decode_escape<'a>(raw: &'a [u8], text: &mut String) -> &'a [u8] {
    let [_, letter, rest @ ..] = raw else {
        text.push(char::REPLACEMENT_CHARACTER);
        return &[];
    };
    let character = match letter {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => char::from(*letter),
        b'u' => return decode_unicode_escape(rest, text),
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.push(character);
    rest
}

/// Decodes `XXXX`, or `XXXX\uYYYY` where the two are a surrogate pair.
fn decode_unicode_escape<'a>(raw: &'a [u8], text: &mut String) -> &'a [u8] {
    let Some((high, rest)) = hex4(raw) else {
        text.push(char::REPLACEMENT_CHARACTER);
        return raw;
    };
    if let Some(character) = char::from_u32(high) {
        text.push(character);
        return rest;
    }
    let low = rest.strip_prefix(b"\\u").and_then(hex4);
    if let Some((low, after)) = low.filter(|(low, _)| (0xDC00..0xE000).contains(low) && high < 0xDC00) {
        let scalar = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        text.push(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER));
        return after;
    }
    text.push(char::REPLACEMENT_CHARACTER);
    rest
}

fn hex4(raw: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = raw.split_at_checked(4)?;
    let value = digits.iter().try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?))?;
    Some((value, rest))
}

/// How many UTF-16 code units the decoded string has, without decoding it. `raw` is the inside of a valid
/// JSON string.
#[must_use]
pub fn utf16_units(raw: &[u8]) -> u64 {
    encoded_units(raw) - escape_excess(raw)
}

/// How many UTF-16 code units `bytes` of UTF-8 are, escapes taken as the characters they are written with.
#[must_use]
pub fn encoded_units(bytes: &[u8]) -> u64 {
    bytes.chunks(1024).map(chunk_units).sum()
}

fn chunk_units(bytes: &[u8]) -> u64 {
    if bytes.is_ascii() {
        return bytes.len() as u64;
    }
    // Every character starts with one byte that is no continuation (0b10xxxxxx); those of four bytes are two units.
    bytes.iter().map(|&byte| u64::from(byte & 0xC0 != 0x80) + u64::from(byte >= 0xF0)).sum()
}

/// By how many units the escapes of `raw` are longer than what they stand for.
fn escape_excess(raw: &[u8]) -> u64 {
    let mut excess = 0;
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let len = if rest.get(at + 1) == Some(&b'u') { 6 } else { 2 };
        excess += len as u64 - 1;
        rest = rest.get(at + len..).unwrap_or_default();
    }
    excess
}

/// `text` as a JSON string with its quotes, in the spelling of `JSON.stringify`.
#[must_use]
pub fn encode(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether the decoded string holds nothing but white space.
#[must_use]
pub fn is_blank(raw: &[u8]) -> bool {
    match raw.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => true,
        Some(byte) if *byte == b'\\' || !byte.is_ascii() => decode(raw).trim().is_empty(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::chars4;
    use proptest::prelude::*;

    #[test]
    fn decodes_every_escape() {
        let cases = [
            (r"plain", "plain"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"caf\u00e9", "café"),
            (r"\ud83d\ude00!", "😀!"),
            (r"lone \ud83d here", "lone \u{fffd} here"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"cut \u12", "cut \u{fffd}12"),
            (r"odd \q", "odd \u{fffd}"),
            ("end \\", "end \u{fffd}"),
        ];
        for (raw, text) in cases {
            assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        }
        assert_eq!(decode(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn blank_looks_through_escapes() {
        assert!(is_blank(b"") && is_blank(b" \\n\\t ") && is_blank("\u{a0}".as_bytes()));
        assert!(!is_blank(b"\\n.") && !is_blank("é".as_bytes()));
    }

    proptest! {
        #[test]
        fn encode_then_decode_is_the_identity(text in any::<String>()) {
            let json = encode(&text);
            let raw = &json.as_bytes()[1..json.len() - 1];
            prop_assert_eq!(decode(raw), text.as_str());
            prop_assert_eq!(utf16_units(raw).div_ceil(4), chars4(&text).0);
        }
    }
}
