//! The rules by which secrets are found, read from `redact.toml`.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;

use super::screen::{Kind, entropy, has_stopwords, reads_like_words};

/// A secret that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) family: &'static str,
}

/// The secrets of `text` by all rules, in no order; they may overlap.
pub(super) fn find(text: &str) -> Vec<Finding> {
    #[expect(
        clippy::expect_used,
        reason = "part of the program, and read by a test; without rules nothing may be sent"
    )]
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::parse(BUILT_IN).expect("redact.toml holds rules"));
    RULES.find(text)
}

const BUILT_IN: &str = include_str!("../redact.toml");

#[derive(Debug)]
struct Rules {
    all: Vec<Rule>,
    keywords: AhoCorasick,
    /// The rule of each keyword.
    owners: Vec<usize>,
    stopwords: Vec<String>,
}

#[derive(Debug)]
struct Rule {
    raw: RawRule,
    regex: Regex,
}

/// As in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRules {
    stopwords: Vec<String>,
    rule: Vec<RawRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    family: String,
    keywords: Vec<String>,
    pattern: String,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    has: Vec<Kind>,
    #[serde(default)]
    screened: bool,
}

#[derive(Debug, thiserror::Error)]
enum RulesError {
    #[error("read the rules")]
    Form(#[from] toml::de::Error),
    #[error("read a pattern")]
    Pattern(#[from] regex::Error),
    #[error("read the keywords")]
    Keywords(#[from] aho_corasick::BuildError),
}

impl Rules {
    fn parse(text: &str) -> Result<Self, RulesError> {
        let RawRules { stopwords, rule } = toml::from_str(text)?;
        let rules = rule.into_iter().map(|raw| Ok(Rule { regex: Regex::new(&raw.pattern)?, raw }));
        let all: Vec<Rule> = rules.collect::<Result<_, regex::Error>>()?;
        let owned =
            || all.iter().enumerate().flat_map(|(at, rule)| rule.raw.keywords.iter().map(move |word| (at, word)));
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(owned().map(|(_, word)| word))?;
        let owners = owned().map(|(at, _)| at).collect();
        Ok(Self { all, keywords, owners, stopwords })
    }

    fn find(&'static self, text: &str) -> Vec<Finding> {
        let mut is_called = vec![false; self.all.len()];
        for found in self.keywords.find_overlapping_iter(text) {
            let owner = self.owners.get(found.pattern().as_usize()).and_then(|owner| is_called.get_mut(*owner));
            if let Some(called) = owner {
                *called = true;
            }
        }
        let called = self.all.iter().zip(is_called).filter(|(_, called)| *called);
        called.flat_map(|(rule, _)| self.find_by(rule, text)).collect()
    }

    fn find_by<'a>(&'static self, rule: &'static Rule, text: &'a str) -> impl Iterator<Item = Finding> + use<'a> {
        let secrets = rule.regex.captures_iter(text).filter_map(|captures| captures.name("secret").or(captures.get(0)));
        secrets
            .filter(|secret| self.passes(rule, secret.as_str()))
            .map(|secret| Finding { range: secret.range(), family: &rule.raw.family })
    }

    fn passes(&self, rule: &Rule, secret: &str) -> bool {
        let RawRule { entropy: least, has, screened, .. } = &rule.raw;
        has.iter().all(|kind| secret.chars().any(|c| kind.has(c)))
            && entropy(secret) >= *least
            && !(*screened && (has_stopwords(secret, &self.stopwords) || reads_like_words(secret)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // G-01
    #[test]
    fn the_rules_have_their_form() {
        let rules = Rules::parse(BUILT_IN).unwrap();
        assert!(rules.all.iter().all(|rule| !rule.raw.keywords.is_empty() && !rule.raw.family.is_empty()));
        assert!(rules.stopwords.is_sorted(), "for binary search");
        assert!(rules.stopwords.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }
}
