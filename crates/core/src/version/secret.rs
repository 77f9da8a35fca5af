//! A text that is to be purged, in all forms in which it may stand in a line, and the mask that takes its place (N-12).

use std::ops::Range;

use ctxc_transcript::scan::Scan;

/// The beginning and the end of a mask that is long enough.
const MASK: (&[u8], &[u8]) = (b"[forgot", b"]");
/// The bytes that fill a mask. The next one is used if two lines would become one.
const FILL: &[u8] = b"*#+=~^";
/// A line of a secret of several lines that is no shorter is looked for by itself, for a tool may have put a number before it.
const LINE: usize = 16;
/// Marks of a text that was cut. Labels and titles may have a part of a secret before one.
const CUTS: [&[u8]; 2] = ["…".as_bytes(), b"..."];
/// Parts of longer texts are not looked for.
const LONGEST_CUT: usize = 256;
/// The most times that a text was put into a string of JSON again.
const LEVELS: usize = 3;

/// A text that is to be purged, or several.
#[derive(Clone, Debug)]
pub struct Secret {
    needles: Vec<Needle>,
}

#[derive(Clone, Debug)]
struct Needle {
    bytes: Vec<u8>,
    form: Form,
}

/// The encoding around a secret, which has to stay valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Base64,
    Hex,
}

impl Secret {
    /// The least length in bytes: anything shorter would be found everywhere.
    pub const LEAST: usize = 4;

    /// `text` as it is, in base64, in hexadecimal and percent-encoded; and each of its lines that is long enough. `None` where
    /// it is too short.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut secret = Self::of_texts([text])?;
        let lines = text.lines().map(str::trim).filter(|line| line.len() >= LINE && !line.starts_with("-----"));
        let lines: Vec<&str> = lines.filter(|line| *line != text).collect();
        secret.needles.extend(lines.iter().flat_map(|line| encoded(line.as_bytes())));
        secret.needles.extend(encoded(text.as_bytes()));
        secret.needles.extend(lines.into_iter().map(Needle::text));
        Some(secret)
    }

    /// These texts as they are; `None` where none is long enough.
    #[must_use]
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut needles: Vec<Needle> =
            texts.into_iter().filter(|text| text.len() >= Self::LEAST).map(Needle::text).collect();
        needles.sort_by(|left, right| left.bytes.cmp(&right.bytes));
        needles.dedup_by(|left, right| left.bytes == right.bytes);
        (!needles.is_empty()).then_some(Self { needles })
    }

    /// `bytes`, which may be a line of a transcript, with masks in the place of the secret; as long as before. `None` where it
    /// is not in it, or where a mask would make another entry of it. With each further `attempt` the masks are different.
    #[must_use]
    pub fn mask(&self, bytes: &[u8], attempt: usize) -> Option<Vec<u8>> {
        let found = self.find_all(bytes);
        if found.is_empty() {
            return None;
        }
        let found = apart(if is_json(bytes) { in_strings(bytes, found) } else { found });
        if found.is_empty() {
            return None;
        }
        let mut masked = bytes.to_vec();
        for (range, form) in found {
            if let Some(place) = masked.get_mut(range) {
                fill(place, form, attempt);
            }
        }
        is_same_entry(bytes, &masked).then_some(masked)
    }

    /// Whether it is in `bytes`, in any form.
    #[must_use]
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        !self.find_all(bytes).is_empty()
    }

    /// The places of the text.
    fn find_all(&self, bytes: &[u8]) -> Vec<(Range<usize>, Form)> {
        let mut found: Vec<(Range<usize>, Form)> = Vec::new();
        let mut view = View { bytes: bytes.to_vec(), starts: None };
        for _ in 0..=LEVELS {
            self.find_in(&view, &mut found);
            if memchr::memchr(b'%', &view.bytes).is_some() {
                self.find_in(&view.decoded(percent), &mut found);
            }
            if memchr::memchr(b'\\', &view.bytes).is_none() {
                break;
            }
            view = view.decoded(escape);
        }
        found
    }

    fn find_in(&self, view: &View, found: &mut Vec<(Range<usize>, Form)>) {
        for Needle { bytes, form } in self.needles.iter().filter(|needle| needle.bytes.len() <= view.bytes.len()) {
            let finder = memchr::memmem::Finder::new(bytes);
            let mut from = 0;
            // Overlapping ones too: one of them may reach over the end of a string.
            while let Some(at) = view.bytes.get(from..).and_then(|rest| finder.find(rest)) {
                let at = from + at;
                found.push((view.source(at)..view.source(at + bytes.len()), *form));
                from = at + 1;
            }
        }
        for cut in CUTS.iter().flat_map(|cut| memchr::memmem::find_iter(&view.bytes, cut).map(|at| at..at + cut.len()))
        {
            for needle in self.needles.iter().filter(|it| it.form == Form::Text && it.bytes.len() <= LONGEST_CUT) {
                let part = needle.part_at(&view.bytes, &cut);
                found.extend(part.map(|part| (view.source(part.start)..view.source(part.end), Form::Text)));
            }
        }
    }
}

impl Needle {
    fn text(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec(), form: Form::Text }
    }

    /// The longest part of it that ends or starts where `bytes` were cut, where it tells something.
    fn part_at(&self, bytes: &[u8], cut: &Range<usize>) -> Option<Range<usize>> {
        let (before, behind) = (bytes.get(..cut.start)?, bytes.get(cut.end..)?);
        let least = Secret::LEAST.max(self.bytes.len() / 4);
        (least..self.bytes.len()).rev().find_map(|len| {
            if self.bytes.get(..len).is_some_and(|start| before.ends_with(start)) {
                Some(cut.start - len..cut.start)
            } else if self.bytes.get(self.bytes.len() - len..).is_some_and(|end| behind.starts_with(end)) {
                Some(cut.end..cut.end + len)
            } else {
                None
            }
        })
    }
}

/// The number of masks in `bytes`.
#[must_use]
pub fn n_masks(bytes: &[u8]) -> usize {
    let is_whole = |at: &usize| {
        let rest = bytes.get(at + MASK.0.len()..).unwrap_or_default();
        let n_filled = rest.iter().take_while(|byte| FILL.contains(byte)).count();
        rest.get(n_filled..).is_some_and(|rest| rest.starts_with(MASK.1))
    };
    memchr::memmem::find_iter(bytes, MASK.0).filter(is_whole).count()
}

fn fill(place: &mut [u8], form: Form, attempt: usize) {
    let filler = match form {
        Form::Text => FILL.get(attempt % FILL.len()).copied().unwrap_or(b'*'),
        // Other letters and digits where two lines would become one.
        Form::Base64 => b'A' + u8::try_from(attempt % 26).unwrap_or(0),
        Form::Hex => b'0' + u8::try_from(attempt % 10).unwrap_or(0),
    };
    place.fill(filler);
    let (head, tail) = MASK;
    let has_room = place.len() > head.len() + tail.len() || (attempt == 0 && place.len() == head.len() + tail.len());
    if form == Form::Text && has_room {
        let end = place.len() - tail.len();
        place.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
        place.iter_mut().skip(end).zip(tail).for_each(|(to, from)| *to = *from);
    }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// `found` in order, without overlaps: the longest of those that start at one place.
fn apart(mut found: Vec<(Range<usize>, Form)>) -> Vec<(Range<usize>, Form)> {
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    found.retain(|(range, _)| {
        let is_apart = range.start >= end;
        end = end.max(range.end);
        is_apart
    });
    found
}

/// Those of `found` that are texts of the JSON in `bytes`: they reach over the end of no string, and part no escape.
fn in_strings(bytes: &[u8], mut found: Vec<(Range<usize>, Form)>) -> Vec<(Range<usize>, Form)> {
    // The beginnings and ends of strings, and the second byte of each escape.
    let (mut quotes, mut escaped) = (Vec::new(), Vec::new());
    let mut is_escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        if is_escaped {
            escaped.push(at);
        } else if *byte == b'"' {
            quotes.push(at);
        }
        is_escaped = !is_escaped && *byte == b'\\';
    }
    let has = |places: &[usize], range: &Range<usize>| {
        let from = places.partition_point(|place| *place < range.start);
        places.get(from).is_some_and(|place| *place < range.end)
    };
    let is_parted = |at: &usize| escaped.binary_search(at).is_ok();
    found.retain(|(range, _)| !has(&quotes, range) && !is_parted(&range.start) && !is_parted(&range.end));
    found
}

/// Whether a line is the entry that it was: JSON where it was JSON, of the same kind, under the same ids.
fn is_same_entry(before: &[u8], after: &[u8]) -> bool {
    if !is_json(before) {
        return true;
    }
    let ids = |bytes| {
        let scan = Scan::of(bytes);
        [scan.uuid, scan.session_id].map(|span| span.and_then(|span| span.string(bytes)))
    };
    is_json(after) && Scan::of(before).kind == Scan::of(after).kind && ids(before) == ids(after)
}

/// Bytes with the place in the source that each comes from.
struct View {
    bytes: Vec<u8>,
    /// One more than there are bytes; `None` where it is the source itself.
    starts: Option<Vec<usize>>,
}

/// Decodes the beginning of bytes: the number of bytes taken, and the bytes that they encode; `None` if they encode
/// themselves.
type Decode = fn(&[u8]) -> Option<(usize, Vec<u8>)>;

impl View {
    fn source(&self, at: usize) -> usize {
        match &self.starts {
            Some(starts) => starts.get(at).copied().unwrap_or_default(),
            None => at,
        }
    }

    fn decoded(&self, decode: Decode) -> Self {
        let (mut bytes, mut starts) = (Vec::with_capacity(self.bytes.len()), Vec::with_capacity(self.bytes.len() + 1));
        let mut at = 0;
        while let Some((first, _)) = self.bytes.get(at..).and_then(<[u8]>::split_first) {
            let escaped = matches!(first, b'\\' | b'%').then(|| self.bytes.get(at..).and_then(decode)).flatten();
            let (n_bytes, plain) = escaped.unwrap_or_else(|| (1, vec![*first]));
            starts.extend(std::iter::repeat_n(self.source(at), plain.len()));
            bytes.extend(plain);
            at += n_bytes;
        }
        starts.push(self.source(at));
        Self { bytes, starts: Some(starts) }
    }
}

/// An escape of JSON. Some writers escape more than they have to: `\/`, `\u003d`, all that is not ASCII.
fn escape(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let plain = match bytes.get(1)? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'u' if bytes.starts_with(b"\\u") => return unicode(bytes),
        _ => return None,
    };
    bytes.starts_with(b"\\").then(|| (2, vec![plain]))
}

fn unicode(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let units = [Some(unit(0)?), unit(6)];
    let mut chars = char::decode_utf16(units.into_iter().flatten());
    let first = chars.next()?.ok()?;
    Some((first.len_utf16() * 6, first.to_string().into_bytes()))
}

/// A percent-encoded byte.
fn percent(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let digits = std::str::from_utf8(bytes.strip_prefix(b"%")?.get(..2)?).ok()?;
    Some((3, vec![u8::from_str_radix(digits, 16).ok()?]))
}

/// `text` in hexadecimal and in base64, wherever it starts in what was encoded. The characters at the edges that other bytes
/// have a part in are left out.
fn encoded(text: &[u8]) -> Vec<Needle> {
    let digits = text.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    let mut needles = vec![
        Needle { bytes: hex.to_uppercase().into_bytes(), form: Form::Hex },
        Needle { bytes: hex.into(), form: Form::Hex },
    ];
    for shift in 0..3 {
        let bits = [&vec![0; shift], text].concat();
        let plain: Vec<u8> = base64(&bits);
        let whole = plain.get(shift * 8usize.div_ceil(6)..bits.len() * 8 / 6).unwrap_or_default();
        // The rest of a short one would be found everywhere.
        if whole.len() < 2 * Secret::LEAST {
            continue;
        }
        let url: Vec<u8> = whole
            .iter()
            .map(|byte| match byte {
                b'+' => b'-',
                b'/' => b'_',
                byte => *byte,
            })
            .collect();
        if url != whole {
            needles.push(Needle { bytes: url, form: Form::Base64 });
        }
        needles.push(Needle { bytes: whole.to_vec(), form: Form::Base64 });
    }
    needles
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = Vec::with_capacity(bytes.len() * 4 / 3 + 2);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        digits.extend([18, 12, 6, 0].iter().take(chunk.len() + 1).filter_map(|shift| DIGITS.get(bits >> shift & 63)));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secret: &str, line: &str) -> Option<String> {
        let masked = Secret::of(secret).unwrap().mask(line.as_bytes(), 0)?;
        assert_eq!(masked.len(), line.len());
        Some(String::from_utf8(masked).unwrap())
    }

    // N-12
    #[test]
    fn n_12_a_secret_is_found_in_every_form() {
        let secret = "pä\"ss\\w/ord=1";
        let once = serde_json::to_string(secret).unwrap();
        let again = serde_json::to_string(&once).unwrap();
        let ascii = r#""p\u00e4\u0022ss\\w\/ord\u003D1""#;
        for form in [once.as_str(), &again, &serde_json::to_string(&again).unwrap(), ascii] {
            let line = format!(r#"{{"type":"user","message":{{"content":{form}}}}}"#);
            let masked = masked(secret, &line).unwrap_or_else(|| panic!("{line}"));
            assert!(masked.contains("[forgot") && !masked.contains("ord"), "{masked}");
            assert_eq!(n_masks(masked.as_bytes()), 1);
        }
        assert_eq!(
            masked(secret, "GET /?a=p%C3%A4%22ss%5Cw%2ford%3d1&b").unwrap(),
            "GET /?a=[forgot******************]&b"
        );
        assert_eq!(masked(secret, "unrelated"), None);
    }

    // N-12
    #[test]
    fn n_12_a_secret_in_base64_and_hexadecimal_is_masked_within_its_alphabet() {
        let secret = "correct horse battery";
        for before in ["", "a", "ab", "abc"] {
            let text = base64(format!("{before}{secret}xyz").as_bytes());
            let line = format!(r#"{{"a":"{}"}}"#, String::from_utf8(text).unwrap());
            let masked = masked(secret, &line).unwrap_or_else(|| panic!("{line}"));
            assert!(masked.contains("AAAAAAAAAAAAAAAAAAAAAAAAA"), "{masked}");
        }
        assert_eq!(
            masked(secret, "x 636f727265637420686f7273652062617474657279").unwrap(),
            format!("x {}", "0".repeat(42))
        );
    }

    // N-12
    #[test]
    fn n_12_each_line_of_a_key_is_found_behind_a_number() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nQWERTZUIOPASDFGHJKLYXCVB\n-----END KEY-----";
        let shown = masked(
            key,
            r#"{"a":"  1→-----BEGIN KEY-----\n  2→MIIEvQIBADANBgkqhkiG9w0B\n  3→QWERTZUIOPASDFGHJKLYXCVB"}"#,
        );
        assert_eq!(
            shown.unwrap(),
            r#"{"a":"  1→-----BEGIN KEY-----\n  2→[forgot****************]\n  3→[forgot****************]"}"#
        );
    }

    // N-12
    #[test]
    fn n_12_a_mask_never_makes_another_entry() {
        assert_eq!(masked("user", r#"{"type":"user","message":{}}"#), None);
        assert_eq!(masked("abcd", r#"{"type":"user","uuid":"abcd"}"#), None);
        assert_eq!(masked(r#"1,"b""#, r#"{"a":1,"b":2}"#), None);
        assert!(Secret::of("abc").is_none());
        assert_eq!(masked("hunter2", "hunter2 x").unwrap(), "******* x");
    }
}
