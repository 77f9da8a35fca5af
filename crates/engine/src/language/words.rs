//! Splits a text into words with their shapes.
//!
//! It makes one pass over the bytes without allocation, since it is the inner loop of the built-in engine. A word is a run of
//! letters and digits with the joiners of a path, an identifier or a number; Chinese, Japanese and Korean characters form
//! runs of their own, since spaces do not separate their words.

use super::shape::{self, Shape};
use ctxc_transcript::text::is_ideograph;

/// One word of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'t> {
    /// The word as the text has it.
    pub text: &'t str,
    /// The byte at which it starts.
    pub at: usize,
    /// The kind of the word by its shape.
    pub shape: Shape,
}

/// The words of `text` in order, separated only by spaces and punctuation.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    Words { text, pos: 0 }
}

/// A hash of `word` that ignores the case of ASCII letters and is the same on all machines.
#[must_use]
pub fn fold_hash(word: &str) -> u64 {
    let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}

struct Words<'t> {
    text: &'t str,
    pos: usize,
}

/// The role of a byte in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Never part of a word.
    Gap,
    Letter,
    Digit,
    /// May start or continue a word: `/ . ~ $ @ # _ - \ +`.
    Joiner,
    /// Continues a word only under conditions: `: ' , %`.
    Inner,
    Wide,
}

fn class_at(bytes: &[u8], at: usize) -> Class {
    match bytes.get(at) {
        Some(b'a'..=b'z' | b'A'..=b'Z') => Class::Letter,
        Some(b'0'..=b'9') => Class::Digit,
        Some(b'/' | b'.' | b'~' | b'$' | b'@' | b'#' | b'_' | b'-' | b'\\' | b'+') => Class::Joiner,
        Some(b':' | b'\'' | b',' | b'%') => Class::Inner,
        Some(128..=255) => Class::Wide,
        _ => Class::Gap,
    }
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..).and_then(|rest| rest.chars().next())
}

impl<'t> Iterator for Words<'t> {
    type Item = Word<'t>;

    fn next(&mut self) -> Option<Word<'t>> {
        let bytes = self.text.as_bytes();
        while self.pos < bytes.len() {
            match class_at(bytes, self.pos) {
                Class::Gap | Class::Inner => self.pos += 1,
                Class::Wide => {
                    let c = char_at(self.text, self.pos)?;
                    if is_ideograph(c) {
                        return Some(self.ideographs());
                    }
                    if c.is_alphanumeric() {
                        if let Some(word) = self.word() {
                            return Some(word);
                        }
                    } else {
                        self.pos += c.len_utf8();
                    }
                }
                Class::Letter | Class::Digit | Class::Joiner => {
                    if let Some(word) = self.word() {
                        return Some(word);
                    }
                }
            }
        }
        None
    }
}

impl<'t> Words<'t> {
    fn ideographs(&mut self) -> Word<'t> {
        let at = self.pos;
        let rest = self.text.get(at..).unwrap_or_default();
        let len = rest.find(|c| !is_ideograph(c)).unwrap_or(rest.len());
        self.pos = at + len;
        Word { text: rest.get(..len).unwrap_or_default(), at, shape: Shape::Ideographs }
    }

    /// The run that starts here, or `None` if it consists of joiners only. Moves past it in both cases.
    fn word(&mut self) -> Option<Word<'t>> {
        let bytes = self.text.as_bytes();
        let start = self.pos;
        let mut end = start;
        let mut has_word = false;
        loop {
            match class_at(bytes, end) {
                Class::Letter | Class::Digit => {
                    has_word = true;
                    end += 1;
                }
                Class::Joiner => end += 1,
                Class::Inner if has_word => {
                    if bytes.get(end..).is_some_and(|rest| rest.starts_with(b"://")) {
                        return Some(self.url(start));
                    }
                    if !goes_on(bytes, end) {
                        // A percent sign ends a number and belongs to it.
                        end += usize::from(bytes.get(end) == Some(&b'%') && class_at(bytes, end - 1) == Class::Digit);
                        break;
                    }
                    end += if bytes.get(end + 1) == Some(&b':') { 2 } else { 1 };
                }
                Class::Wide => match char_at(self.text, end) {
                    Some(c) if c.is_alphanumeric() && !is_ideograph(c) => {
                        has_word = true;
                        end += c.len_utf8();
                    }
                    _ => break,
                },
                Class::Inner | Class::Gap => break,
            }
        }
        self.pos = end.max(start + 1);
        if !has_word {
            return None;
        }
        self.shaped(start, end)
    }

    fn url(&mut self, start: usize) -> Word<'t> {
        let rest = self.text.get(start..).unwrap_or_default();
        let stops = |c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '|') || is_ideograph(c)
        };
        let len = rest.find(|c| stops(c) || ('\u{3000}'..='\u{303f}').contains(&c)).unwrap_or(rest.len());
        let text = rest.get(..len).unwrap_or_default().trim_end_matches(['.', ',', ':', ';', '*', '!', '?']);
        self.pos = start + len;
        Word { text, at: start, shape: Shape::Url }
    }

    fn shaped(&mut self, start: usize, end: usize) -> Option<Word<'t>> {
        let run = self.text.get(start..end)?;
        let led = run.trim_start_matches(['.', '+', '-', '#', '$', '~', '@', '\\', '_', '/']);
        let at = start + shape::prefix(run, run.len() - led.len());
        let text = self.text.get(at..end)?.trim_end_matches(['.', '-', '+', '#', '@', '$', '~', '\\']);
        let mut word = Word { text, at, shape: shape::of(text) };
        let bytes = self.text.as_bytes();
        let after = at + text.len();
        if word.shape == Shape::Number {
            if is_list_number(bytes, at, after) {
                word.shape = Shape::Plain;
            } else if let Some(len) = shape::unit_after(self.text.get(after..).unwrap_or_default()) {
                word.text = self.text.get(at..after + len)?;
                self.pos = after + len;
            }
        } else if word.shape == Shape::Plain && text.len() > 2 {
            if bytes.get(after..).is_some_and(|rest| rest.starts_with(b"()")) {
                word = Word { text: self.text.get(at..after + 2)?, at, shape: Shape::Identifier };
                self.pos = after + 2;
            } else if at > 0 && bytes.get(at - 1) == Some(&b'`') && bytes.get(after) == Some(&b'`') {
                word.shape = Shape::Identifier;
            }
        }
        Some(word)
    }
}

/// Whether the byte at `at` (`:`, `'`, `,` or `%`) joins two parts of one word.
fn goes_on(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(Class::Gap, |before| class_at(bytes, before));
    let after = class_at(bytes, at + 1);
    match bytes.get(at) {
        Some(b':') if bytes.get(at + 1) == Some(&b':') => class_at(bytes, at + 2) == Class::Letter,
        Some(b':') => (before == Class::Digit && after == Class::Digit) || bytes.get(at + 1) == Some(&b'\\'),
        Some(b',') => {
            let thousands = (1..=3).all(|n| class_at(bytes, at + n) == Class::Digit);
            before == Class::Digit && thousands && class_at(bytes, at + 4) != Class::Digit
        }
        Some(b'\'') => before == Class::Letter && after == Class::Letter,
        _ => false,
    }
}

/// Whether the number is a list or line number: first on its line, followed by `. ` or `) `, or by `→` as in a listed file.
fn is_list_number(bytes: &[u8], at: usize, after: usize) -> bool {
    let first = bytes.get(..at).is_some_and(|head| {
        head.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n')
    });
    let is_listing = || bytes.get(after..).is_some_and(|rest| rest.starts_with("→".as_bytes()));
    first && is_listing()
        || first && matches!(bytes.get(after), Some(b'.' | b')')) && matches!(bytes.get(after + 1), Some(b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> Vec<(&str, Shape)> {
        words(text).map(|word| (word.text, word.shape)).filter(|(_, shape)| *shape != Shape::Plain).collect()
    }

    // G-03
    #[test]
    fn a_word_shows_its_kind() {
        let cases: &[(&str, &[(&str, Shape)])] = &[
            ("see src/main.rs:12, then", &[("src/main.rs", Shape::Path), ("12", Shape::Number)]),
            ("(/etc/hosts) and/or ~/.config", &[("/etc/hosts", Shape::Path), ("~/.config", Shape::Path)]),
            ("at https://a.b/c?d=e&f=1.", &[("https://a.b/c?d=e&f=1", Shape::Url)]),
            (
                "call parse_all or FooBar or run()",
                &[("parse_all", Shape::Identifier), ("FooBar", Shape::Identifier), ("run()", Shape::Identifier)],
            ),
            (
                "took 12 ms, 35%, 3.5x and 1,024 tokens",
                &[
                    ("12 ms", Shape::Number),
                    ("35%", Shape::Number),
                    ("3.5x", Shape::Number),
                    ("1,024 tokens", Shape::Number),
                ],
            ),
            ("v0.1.0 and 1.89.0", &[("v0.1.0", Shape::Version), ("1.89.0", Shape::Version)]),
            ("commit ebc91a2 now", &[("ebc91a2", Shape::Hash)]),
            (
                "std::fs::read with --all and `main`",
                &[("std::fs::read", Shape::Identifier), ("--all", Shape::Identifier), ("main", Shape::Identifier)],
            ),
            ("1. one\n12. two\n 13→three", &[]),
            (
                "設定はconfig.tomlにある",
                &[("設定は", Shape::Ideographs), ("config.toml", Shape::Path), ("にある", Shape::Ideographs)],
            ),
            ("C:\\Users\\me\\a.txt", &[("C:\\Users\\me\\a.txt", Shape::Path)]),
        ];
        for (text, expected) in cases {
            assert_eq!(&shapes(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_slices_at_their_place() {
        let text = "It's naïve — «don't» 😀 日本語 x::y, a.b.";
        for word in words(text) {
            assert_eq!(text.get(word.at..word.at + word.text.len()), Some(word.text));
        }
        let plain: Vec<_> = words(text).map(|word| word.text).collect();
        assert_eq!(plain, ["It's", "naïve", "don't", "日本語", "x::y", "a.b"]);
    }
}
