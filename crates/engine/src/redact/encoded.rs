//! Secrets in base64, and tokens that no prefix announces: both are long words.

use std::ops::Range;

use super::known::Finding;

/// A shorter word holds nothing that could be told from chance.
const SHORTEST: usize = 20;
/// A longer word is a file.
const LONGEST: usize = 32 * 1024;
/// Bytes of a word that are looked at first: what is no text shows there.
const HEAD: usize = 32;

/// The long words of `text` that hold a secret; `family` says what a decoded text holds.
pub(super) fn find(text: &str, family: impl Fn(&str) -> Option<&'static str>) -> Vec<Finding> {
    let bytes = text.as_bytes();
    let is_of_word =
        |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/_-".contains(byte));
    let mut found = Vec::new();
    let mut at = SHORTEST - 1;
    // Every word of this length or more covers one of these places.
    while at < bytes.len() {
        if !is_of_word(at) {
            at += SHORTEST;
            continue;
        }
        let start = (0..at).rev().take(LONGEST).take_while(|at| is_of_word(*at)).last().unwrap_or(at);
        let end = (at..bytes.len()).find(|at| !is_of_word(*at)).unwrap_or(bytes.len());
        if end - start >= SHORTEST && end - start <= LONGEST {
            found.extend(discord(text, start..end));
            found.extend(decoded(text, start..end, &family));
        }
        at = end + SHORTEST;
    }
    found
}

/// A Discord bot token: the id of the bot in base64, when it was made, and a signature.
fn discord(text: &str, word: Range<usize>) -> Option<Finding> {
    let rest = text.get(word.end..)?;
    let first = text.get(word.clone())?;
    let is_id = (23..=28).contains(&first.len()) && first.starts_with(['M', 'N', 'O']);
    if !is_id || !rest.starts_with('.') {
        return None;
    }
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let rest = rest.as_bytes();
    let n_time = rest.get(1..)?.iter().take_while(|byte| is_of_word(byte)).count();
    let n_signature = rest.get(n_time + 2..)?.iter().take_while(|byte| is_of_word(byte)).count();
    let is_token = n_time == 6 && rest.get(7) == Some(&b'.') && (27..=40).contains(&n_signature);
    is_token.then(|| Finding { range: word.start..word.end + n_time + n_signature + 2, family: "Discord token" })
}

/// `word`, where it is a text in base64 that holds a secret.
fn decoded(text: &str, word: Range<usize>, family: impl Fn(&str) -> Option<&'static str>) -> Option<Finding> {
    let bytes = text.as_bytes().get(word.clone())?;
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    if !decode(bytes.get(..HEAD.min(bytes.len()))?).iter().all(is_text) {
        return None;
    }
    let decoded = decode(bytes);
    if !decoded.iter().all(is_text) {
        return None;
    }
    let decoded = String::from_utf8(decoded).ok()?;
    Some(Finding { range: word, family: family(&decoded)? })
}

/// What `text` is in base64 of either alphabet, without its last bits where they make no byte.
fn decode(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0_u32);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            decoded.push((bits >> n_bits & 0xff) as u8);
        }
    }
    decoded
}
