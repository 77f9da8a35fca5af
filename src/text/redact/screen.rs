//! What tells a secret from a word that only stands in its place.

use serde::Deserialize;

/// A kind of character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Digit,
    Letter,
    Lower,
    Upper,
}

impl Kind {
    pub(super) fn has(self, c: char) -> bool {
        match self {
            Self::Digit => c.is_ascii_digit(),
            Self::Letter => c.is_alphabetic(),
            Self::Lower => c.is_ascii_lowercase(),
            Self::Upper => c.is_ascii_uppercase(),
        }
    }
}

/// The Shannon entropy of `text`, in bits a character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut chars: Vec<char> = text.chars().collect();
    chars.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "a secret is shorter than 2^52 characters")]
    let share = |n: usize| n as f64 / chars.len() as f64;
    let runs = chars.chunk_by(|a, b| a == b).map(|run| share(run.len()));
    runs.map(|share| -share * share.log2()).sum()
}

/// Whether a sixth of `text` or more are words of `stopwords`, which are sorted and in lower case, and letters and
/// digits are not mixed as chance mixes them.
pub(super) fn has_stopwords(text: &str, stopwords: &[String]) -> bool {
    let is_stopword = |part: &&str| stopwords.binary_search(&part.to_ascii_lowercase()).is_ok();
    parts(text).filter(is_stopword).map(str::len).sum::<usize>() * 6 >= text.len() && !is_mixed(text)
}

/// Whether digits and letters take turns as they rarely do in a name.
fn is_mixed(text: &str) -> bool {
    let is_digit: Vec<bool> = text.bytes().map(|byte| byte.is_ascii_digit()).collect();
    is_digit.iter().zip(is_digit.iter().skip(1)).filter(|(one, next)| one != next).count() > 3
}

/// Whether `text` is put together of words, as names in code are, rather than of chance: two thirds of its letters and
/// digits stand in parts of three letters or more that can be spoken.
pub(super) fn reads_like_words(text: &str) -> bool {
    let n_all = text.chars().filter(|c| c.is_alphanumeric()).count();
    let n_spoken: usize = parts(text).filter(|part| is_spoken(part)).map(str::len).sum();
    n_spoken * 3 >= n_all * 2
}

fn is_spoken(part: &str) -> bool {
    let is_vowel = |byte: u8| matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let longest_run = part.as_bytes().split(|byte| is_vowel(*byte)).map(<[u8]>::len).max().unwrap_or(0);
    part.len() >= 3 && longest_run < part.len() && longest_run <= 4
}

/// The runs of ASCII letters of `text`, parted also where a small letter comes before a capital.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|run| !run.is_empty());
    runs.flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let humps = rest
                .as_bytes()
                .windows(2)
                .position(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
            let (part, after) = rest.split_at(humps.map_or(rest.len(), |at| at + 1));
            rest = after;
            (!part.is_empty()).then_some(part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_in_bits_a_character() {
        for (text, bits) in [("aaaa", 0.0), ("abab", 1.0), ("abcd", 2.0), ("abcdefgh", 3.0)] {
            assert!((entropy(text) - bits).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn names_read_like_words_and_chance_does_not() {
        for text in
            ["sessionTokens2", "settings.SECRET_KEY_2", "user_access_v2", "getServerSideProps1", "base64.b16encode"]
        {
            assert!(reads_like_words(text), "{text}");
        }
        for text in ["k3jd8sfkj2lskdjf", "9f86d081884c7d65", "Zx8kQ2mW7vR4tB1n", "Summer2024"] {
            assert!(!reads_like_words(text), "{text}");
        }
    }

    #[test]
    fn stopwords_stand_as_words() {
        let stopwords = ["null".to_owned(), "test".to_owned(), "your".to_owned()];
        for text in ["YOUR_API_KEY_1", "sk-test-123", "myTestToken9"] {
            assert!(has_stopwords(text, &stopwords), "{text}");
        }
        for text in ["NUllAa4x9K2aaaA", "contested7yours", "k3-test-sfkj2lskdjf83jdsk2jf83"] {
            assert!(!has_stopwords(text, &stopwords), "{text}");
        }
    }
}
