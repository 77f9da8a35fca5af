//! What came of a task.

use std::fmt;

use crate::language::FactCount;
use ctxc_transcript::text::{Tokens, chars4};

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The text has a shorter one.
    Compressed {
        /// The text that takes its place.
        text: String,
        /// Its size, in `chars4` tokens.
        tokens: Tokens,
        /// Who wrote it.
        by: Author,
    },
    /// There was a reply, and it was refused: the entry keeps its text.
    Kept(Kept),
    /// There was no reply: the entry keeps its text.
    Failed(String),
}

/// Who wrote a shorter text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The engine that was asked.
    Engine,
    /// The built-in engine, for the reply of a model was refused twice for this reason (K-06).
    Extract(Kept),
}

/// Why a reply is refused (B-08, G-01, G-03, G-04, K-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// It was blank.
    Blank,
    /// It had as many tokens as the original, or more.
    NotShorter,
    /// It was the text of an error, not of the transcript.
    ErrorText,
    /// It had a placeholder of a secret that it was not given.
    ForeignPlaceholder,
    /// It had characters that stand for broken ones, and the original has none.
    Garbled,
    /// Its words are not those of the original: it answers, refuses or obeys the text instead of shortening it.
    Foreign,
    /// It was less than half as long as it was asked to be.
    TooLittle,
    /// It breaks off: in a word, in a sentence, behind an open bracket, or at its limit.
    BrokenOff,
    /// It says the same again and again.
    Repeats,
    /// It speaks of the passage that it was to shorten, as the instructions do.
    OfItsTask,
    /// It had control characters.
    ControlCharacters,
    /// It kept so many of the facts, and the built-in engine keeps more in as many tokens.
    FewerFacts(FactCount),
    /// It kept so many of the facts, which is less than was asked for, or none of many.
    TooFewFacts(FactCount),
    /// It had so many facts that the original does not have.
    Invented(usize),
    /// There was none: the run ended before it was asked for.
    NotAsked,
}

impl Kept {
    /// Whether the model is asked once more, with the reason, and the built-in engine shortens the text where that does not
    /// help (K-06). A reply that is no shorter form of the text at all leaves the text as it is (B-08, R-09).
    #[must_use]
    pub const fn is_poor(self) -> bool {
        matches!(
            self,
            Self::TooLittle
                | Self::BrokenOff
                | Self::Repeats
                | Self::OfItsTask
                | Self::ControlCharacters
                | Self::FewerFacts(_)
                | Self::TooFewFacts(_)
                | Self::Invented(_)
        )
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("the reply is blank"),
            Self::NotShorter => f.write_str("the reply is not shorter"),
            Self::ErrorText => f.write_str("the reply is an error text"),
            Self::ForeignPlaceholder => f.write_str("the reply has a placeholder that it was not given"),
            Self::Garbled => f.write_str("the reply has broken characters"),
            Self::Foreign => f.write_str("the reply is in other words than the text: it does not shorten it"),
            Self::TooLittle => f.write_str("the reply is far shorter than asked for"),
            Self::BrokenOff => f.write_str("the reply breaks off"),
            Self::Repeats => f.write_str("the reply repeats itself"),
            Self::OfItsTask => f.write_str("the reply speaks of its task"),
            Self::ControlCharacters => f.write_str("the reply has control characters"),
            Self::FewerFacts(FactCount { kept, total }) => {
                write!(f, "the reply keeps {kept} of {total} facts, and the built-in engine more in as many tokens")
            }
            Self::TooFewFacts(FactCount { kept: 0, total: 1 }) => {
                f.write_str("the reply loses the one fact that there is")
            }
            Self::TooFewFacts(FactCount { kept, total }) => write!(f, "the reply keeps {kept} of {total} facts"),
            Self::Invented(1) => f.write_str("the reply has a fact that the original does not have"),
            Self::Invented(n) => write!(f, "the reply has {n} facts that the original does not have"),
            Self::NotAsked => f.write_str("the run ended before it was asked for"),
        }
    }
}

/// How the error texts of providers and proxies begin, in lower case.
const ERROR_TEXTS: [&str; 8] = [
    "api error", "{\"error\"", "{\"type\":\"error\"", "<!doctype html", "<html", "error: ", "internal server error",
    "rate limit",
];

impl Outcome {
    /// Whether the run ended before the task was asked for.
    #[must_use]
    pub fn is_not_asked(&self) -> bool {
        *self == Self::Kept(Kept::NotAsked)
    }

    /// Takes `reply` in the place of `text`, or says why not.
    pub(super) fn of_reply(text: &str, reply: String) -> Self {
        let tokens = chars4(&reply);
        if reply.trim().is_empty() {
            Self::Kept(Kept::Blank)
        } else if is_error_text(&reply, text) {
            Self::Kept(Kept::ErrorText)
        } else if tokens >= chars4(text) {
            Self::Kept(Kept::NotShorter)
        } else {
            Self::Compressed { text: reply, tokens, by: Author::Engine }
        }
    }
}

/// Whether `reply` starts as an error text does and `original` has no such line.
pub(super) fn is_error_text(reply: &str, original: &str) -> bool {
    let Some(first_line) = reply.trim_start().lines().next() else { return false };
    let lower = first_line.to_lowercase();
    ERROR_TEXTS.iter().any(|start| lower.starts_with(start)) && !original.contains(first_line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(text: &str, tokens: u64) -> Outcome {
        Outcome::Compressed { text: text.to_owned(), tokens: Tokens(tokens), by: Author::Engine }
    }

    // B-08
    #[test]
    fn replies_that_are_blank_longer_or_errors_are_refused() {
        let original = "The build failed at step 3 because the cache was stale.\nError: no space left";
        let cases = [
            ("", Outcome::Kept(Kept::Blank)),
            (" \n\t", Outcome::Kept(Kept::Blank)),
            (original, Outcome::Kept(Kept::NotShorter)),
            ("API Error: 500 overloaded", Outcome::Kept(Kept::ErrorText)),
            ("Error: no space left", compressed("Error: no space left", 5)),
            ("Stale cache.", compressed("Stale cache.", 3)),
        ];
        for (reply, expected) in cases {
            assert_eq!(Outcome::of_reply(original, reply.to_owned()), expected, "{reply:?}");
        }
    }
}
