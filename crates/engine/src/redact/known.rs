//! All that is known of secrets, as it stands in `redact.toml`, and what is found by it.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde::Deserialize;

use super::name::Names;

/// A secret that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) family: &'static str,
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    /// Words that stand for secrets.
    pub(super) stopwords: HashSet<String>,
    /// Words of sentences about them.
    pub(super) sentence_words: HashSet<String>,
    pub(super) names: Names,
    pub(super) command: Vec<Command>,
    pub(super) form: Vec<Form>,
    pub(super) marked: Vec<Marked>,
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
    /// What `rest` says, made when first used.
    #[serde(skip)]
    pub(super) pattern: OnceLock<Regex>,
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
    /// What `word` says, made when first used.
    #[serde(skip)]
    pub(super) pattern: OnceLock<Regex>,
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

/// What is part of the program.
pub(super) fn known() -> &'static Known {
    #[expect(
        clippy::expect_used,
        reason = "part of the program, and read by a test; without rules nothing may be sent"
    )]
    static KNOWN: LazyLock<Known> =
        LazyLock::new(|| toml::from_str(include_str!("../redact.toml")).expect("redact.toml holds rules"));
    &KNOWN
}
