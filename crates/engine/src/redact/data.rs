//! What is known of secrets, as it stands in `redact.toml`.

use serde::Deserialize;

const BUILT_IN: &str = include_str!("../redact.toml");

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    pub(super) stopwords: Vec<String>,
    pub(super) sentence_words: Vec<String>,
    pub(super) names: NameParts,
    pub(super) command: Vec<Command>,
    pub(super) form: Vec<Form>,
    pub(super) marked: Vec<Marked>,
}

/// Parts of names that say what they hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NameParts {
    pub(super) strong: Vec<String>,
    pub(super) weak: Vec<String>,
    pub(super) endings: Vec<String>,
    pub(super) key_owners: Vec<String>,
    pub(super) harmless: Vec<String>,
    pub(super) about: Vec<String>,
}

/// A command that takes a secret.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    pub(super) name: String,
    /// The subcommand that has to follow.
    pub(super) after: Option<String>,
    /// Options whose value is the next word.
    #[serde(default)]
    pub(super) apart: Vec<String>,
    /// Options with their value in the same word.
    #[serde(default)]
    pub(super) attached: Vec<String>,
    /// Options whose value is a user and a password.
    #[serde(default)]
    pub(super) pair: Vec<String>,
}

/// A token that begins with a prefix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    pub(super) family: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for a test"))]
    pub(super) source: String,
    pub(super) prefixes: Vec<String>,
    pub(super) rest: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for a test"))]
    pub(super) test: String,
    #[serde(default)]
    pub(super) has: Vec<Kind>,
    #[serde(default)]
    pub(super) screened: bool,
}

/// A word that holds a mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Marked {
    pub(super) family: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people, and for a test"))]
    pub(super) source: String,
    pub(super) mark: String,
    pub(super) word: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for a test"))]
    pub(super) test: String,
}

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

impl Data {
    /// The data that is part of the program.
    pub(super) fn built_in() -> Result<Self, toml::de::Error> {
        toml::from_str(BUILT_IN)
    }
}
