//! The intended verb or session if the first word is not a verb (W-16).

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that people type for a verb, and the verb.
const SYNONYMS: [(&str, &str); 10] = [
    ("delete", "discard"),
    ("grep", "find"),
    ("history", "log"),
    ("ls", "list"),
    ("revert", "undo"),
    ("search", "find"),
    ("sessions", "list"),
    ("shrink", "fit"),
    ("status", "stats"),
    ("usage", "stats"),
];

/// The first word of the command line `typed`, if `error` says that it is not a verb.
fn first_word(error: &clap::Error, typed: &[OsString]) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else { return None };
    let first = typed.iter().skip(1).find(|it| !it.to_string_lossy().starts_with('-'))?;
    (error.kind() == ErrorKind::InvalidSubcommand && first.to_str() == Some(word)).then(|| word.clone())
}

/// The command line `typed` with its first word as the session of the overview; `None` if it is not a session or `error` has
/// another reason.
pub(super) fn as_overview(error: &clap::Error, typed: &[OsString]) -> Option<Vec<OsString>> {
    let word = first_word(error, typed).filter(|word| is_session(word))?;
    let at = typed.iter().position(|it| it.to_str() == Some(&word))?;
    let (before, after) = (typed.iter().take(at), typed.iter().skip(at));
    Some(before.cloned().chain(["--of".into()]).chain(after.cloned()).collect())
}

/// Whether `word` can only mean a session: a file, an id or its prefix, or a word for the newest.
fn is_session(word: &str) -> bool {
    let is_id = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_file =
        Path::new(word).extension().is_some_and(|extension| extension == "jsonl") || Path::new(word).is_file();
    is_id || is_file || word == "latest" || word.starts_with("@-")
}

/// `error` with a suggestion from `verbs`, if the intended one is clear.
pub(super) fn with_suggestion(mut error: clap::Error, typed: &[OsString], verbs: &[&str]) -> clap::Error {
    if let Some(meant) = first_word(&error, typed).and_then(|word| meant(&word, verbs)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant.to_owned()]));
    }
    error
}

/// The verb with the letters of `word` in another order, else the verb that `word` is a synonym of.
fn meant<'a>(word: &str, verbs: &[&'a str]) -> Option<&'a str> {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let swapped = verbs.iter().find(|verb| sorted(verb) == sorted(word));
    let synonym = || SYNONYMS.iter().find(|(typed, _)| *typed == word).map(|(_, verb)| *verb);
    swapped.copied().or_else(synonym)
}
