//! The secrets of a text: one pass over it finds what may lead to one, and each such place is looked at on its own.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::known::{Command, Finding, Form, Known, Marked, known};
use super::name::name_at;
use super::{command, encoded, pem, split, url, value};
use crate::pattern::pattern;

/// What leads to secrets, ready for use.
#[derive(Debug)]
struct Rules {
    known: &'static Known,
    /// Finds what may lead to a secret; each is of the kind that stands at the same place in `anchors`.
    finder: AhoCorasick,
    anchors: Vec<Anchor>,
}

/// What may lead to a secret.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// A prefix of this form.
    Prefix(&'static Form),
    /// The mark of this word.
    Mark(&'static Marked),
    /// A part of a name, in any case.
    Name,
    /// This command.
    Command(&'static Command),
    /// Between scheme and server.
    Url,
    /// The head of a PEM block.
    Pem,
    /// What SQL sets a password with.
    Clause,
    /// A command that reads a secret from what is piped into it.
    Reader,
}

/// No word that holds a mark is longer.
const LONGEST_MARKED: usize = 128;

/// The secrets of `text` by all rules, also in what it holds in base64, in no order; they may overlap.
pub(super) fn find(text: &str) -> Vec<Finding> {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new(known()));
    let mut found = RULES.find(text);
    found.extend(encoded::find(text, |decoded| RULES.find(decoded).first().map(|finding| finding.family)));
    found
}

impl Rules {
    fn new(known: &'static Known) -> Self {
        let mut anchors: Vec<(String, Anchor)> = Vec::new();
        for form in &known.form {
            anchors.extend(form.prefixes.iter().map(|prefix| (prefix.clone(), Anchor::Prefix(form))));
        }
        anchors.extend(known.marked.iter().map(|word| (word.mark.clone(), Anchor::Mark(word))));
        anchors.extend(known.command.iter().map(|it| (it.name.clone(), Anchor::Command(it))));
        anchors.extend(known.names.stems().into_iter().map(|stem| (stem.to_owned(), Anchor::Name)));
        anchors.push(("://".to_owned(), Anchor::Url));
        anchors.push(("-----BEGIN ".to_owned(), Anchor::Pem));
        for clause in ["identified by ", "native_password by ", "sha2_password by "] {
            anchors.push((clause.to_owned(), Anchor::Clause));
        }
        for reader in ["--password-stdin", "chpasswd", "sudo -S", "--with-token"] {
            anchors.push((reader.to_owned(), Anchor::Reader));
        }
        #[expect(clippy::expect_used, reason = "a few hundred short words, and built by a test")]
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(anchors.iter().map(|(word, _)| word))
            .expect("the words are few and short");
        Self { known, finder, anchors: anchors.into_iter().map(|(_, anchor)| anchor).collect() }
    }

    /// The secrets of `text` as it is.
    fn find(&'static self, text: &str) -> Vec<Finding> {
        let known = self.known;
        let mut found = Vec::new();
        let mut behind_name = 0;
        for hit in self.finder.find_overlapping_iter(text) {
            let at = hit.range();
            match self.anchors.get(hit.pattern().as_usize()) {
                Some(Anchor::Prefix(form)) => found.extend(by_form(known, text, at, form)),
                Some(Anchor::Mark(marked)) => found.extend(by_mark(text, at, marked)),
                Some(Anchor::Name) if at.start >= behind_name => {
                    let Some(name) = name_at(text, at.start) else { continue };
                    behind_name = name.end;
                    found.extend(value::find(known, text, name));
                }
                Some(Anchor::Command(command)) => found.extend(command::find(known, text, at, command)),
                Some(Anchor::Url) => found.extend(url::find(known, text, at)),
                Some(Anchor::Reader) => found.extend(command::piped(known, text, at.start)),
                Some(Anchor::Clause) => found.extend(value::clause(known, text, at.end)),
                Some(Anchor::Pem) => found.extend(pem::find(text, at.start)),
                Some(Anchor::Name) | None => {}
            }
        }
        found
    }
}

/// The token of `form` whose prefix stands at `prefix`.
fn by_form(known: &Known, text: &str, prefix: Range<usize>, form: &'static Form) -> Option<Finding> {
    let word = text.get(prefix.clone())?;
    let is_within = text.get(..prefix.start)?.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    // Behind an escaped line end the letter is of the escape.
    let is_escaped = text.get(..prefix.start)?.ends_with("\\n") || text.get(..prefix.start)?.ends_with("\\t");
    if is_within && !is_escaped || !form.prefixes.iter().any(|prefix| prefix == word) {
        return None;
    }
    let pattern = form.pattern.get_or_init(|| pattern(&format!(r"\A(?-u:{})", form.rest)));
    let passes = |token: &str| {
        let secret = token.get(word.len()..).unwrap_or_default();
        form.has.iter().all(|kind| secret.chars().any(|c| kind.has(c)))
            && !is_uniform(secret)
            && !(form.screened && known.is_ordinary(secret))
    };
    let range = split::token(text, prefix.start, word.len(), pattern, &passes)?;
    // Of a header, only what follows its scheme is the secret.
    let lead = if word.ends_with(' ') { word.len() } else { 0 };
    Some(Finding { range: range.start + lead..range.end, family: &form.family })
}

/// The word around `mark`, where it has the form of `marked`.
fn by_mark(text: &str, mark: Range<usize>, marked: &'static Marked) -> Option<Finding> {
    if text.get(mark.clone())? != marked.mark {
        return None;
    }
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_~.+/:-".contains(byte);
    let before = text.as_bytes().get(..mark.start)?.iter().rev();
    let n_before = before.take(LONGEST_MARKED).take_while(|byte| is_of_word(byte)).count();
    let after = text.as_bytes().get(mark.end..)?.iter();
    let n_after = after.take(LONGEST_MARKED).take_while(|byte| is_of_word(byte) || **byte == b'=').count();
    let start = mark.start - n_before;
    let pattern = marked.pattern.get_or_init(|| pattern(&format!("(?-u:{})", marked.word)));
    let found = pattern.find(text.get(start..mark.end + n_after)?)?;
    let range = start + found.start()..start + found.end();
    (range.contains(&mark.start)).then_some(Finding { range, family: &marked.family })
}

/// Whether `text` is put together of so few characters that it stands for something else, as in `ghp_xxxxxxxx`.
fn is_uniform(text: &str) -> bool {
    let n_different = text.chars().collect::<HashSet<_>>().len();
    n_different < 4 || n_different < 10 && n_different * 8 <= text.len()
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    // X-02
    #[test]
    fn the_rules_have_their_form() {
        for form in &known().form {
            assert!(!form.prefixes.is_empty() && !form.source.is_empty(), "{}", form.family);
            assert!(Regex::new(&format!(r"\A(?-u:{})", form.rest)).is_ok(), "{}", form.rest);
        }
        for marked in &known().marked {
            assert!(!marked.source.is_empty() && Regex::new(&marked.word).is_ok(), "{}", marked.family);
        }
    }
}
