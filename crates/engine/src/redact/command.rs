//! Commands that take a secret as an option: `curl -u ann:...`, `sshpass -p ...`, `mysql -p...`.

use std::ops::Range;

use super::known::{Command, Finding, Known};
use super::scan::Scan;

/// What a command says within this many bytes is its own.
const REACH: usize = 2000;
const FAMILY: &str = "password";

/// The secrets that `command`, whose name stands at `at`, is called with.
pub(super) fn find(known: &Known, text: &str, at: Range<usize>, command: &Command) -> Vec<Finding> {
    let before = text.get(..at.start).unwrap_or_default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut scan = Scan::new(text, at.end);
    let is_called = matches!(scan.peek(), b' ' | b'\t')
        && !before.ends_with(is_word)
        && text.get(at.clone()) == Some(&*command.name);
    if !is_called {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut is_past = command.after.is_none();
    let mut option: Option<&str> = None;
    while let Some(range) = argument(&mut scan, at.end + REACH) {
        let Some(word) = text.get(range.clone()) else { break };
        if let Some(option) = option.take() {
            found.extend(value(known, command, option, text, range));
            continue;
        }
        is_past |= command.after.as_deref() == Some(word);
        if !is_past {
            continue;
        }
        let all = || command.apart.iter().chain(&command.pair);
        option = all().find(|option| *option == word).map(String::as_str);
        if option.is_some() {
            continue;
        }
        let long = |option: &&String| {
            option.starts_with("--") && word.strip_prefix(option.as_str()).is_some_and(|rest| rest.starts_with('='))
        };
        let short = |option: &&String| {
            option.len() == 2 && word.len() > 2 && word.starts_with(option.as_str()) && !word.starts_with("--")
        };
        if let Some(option) = all().find(long) {
            found.extend(value(known, command, option, text, range.start + option.len() + 1..range.end));
        } else if let Some(option) = command
            .attached
            .iter()
            .chain(command.pair.iter().filter(short))
            .find(|option| word.starts_with(option.as_str()) && word.len() > option.len())
        {
            found.extend(value(known, command, option, text, range.start + option.len()..range.end));
        }
    }
    found
}

/// What `echo` or `printf` pipes into the command at `at`; of `user:password` the password.
pub(super) fn piped(known: &Known, text: &str, at: usize) -> Option<Finding> {
    let lead = Scan::new(text, at).line_before();
    let (line, _) = lead.rsplit_once('|')?;
    let (_, said) = ["echo ", "printf "].iter().find_map(|word| line.rsplit_once(word))?;
    let whole = said.trim();
    let words = whole.trim_start_matches("-n ").trim_start_matches("'%s' ").trim_matches(['\'', '"', ' ']);
    let secret = words.rsplit(':').next()?;
    let from = at - lead.len() + line.len() - said.trim_start().len();
    let start = from + whole.rfind(secret)?;
    let counts = secret.len() >= 3 && !known.is_placeholder(secret);
    counts.then(|| Finding { range: start..start + secret.len(), family: FAMILY })
}

/// The secret in the value of `option`.
fn value(known: &Known, command: &Command, option: &str, text: &str, range: Range<usize>) -> Option<Finding> {
    let whole = text.get(range.clone())?;
    let trimmed = whole.trim_start_matches(['\'', '"', '\\']);
    let start = range.start + whole.len() - trimmed.len();
    let end = start + trimmed.trim_end_matches(['\'', '"', '\\']).len();
    let mut secret = start..end;
    if command.pair.iter().any(|pair| pair == option) {
        secret.start += text.get(secret.clone())?.find([':', '%', ','])? + 1;
    }
    let value = text.get(secret.clone())?;
    let is_cookie_file = matches!(option, "-b" | "--cookie") && !value.contains('=');
    let counts = value.len() >= 3 && !value.starts_with('-') && !known.is_placeholder(value) && !is_cookie_file;
    counts.then_some(Finding { range: secret, family: FAMILY })
}

/// The next argument of a command, with its quotes; nothing where the command ends.
fn argument(scan: &mut Scan<'_>, end: usize) -> Option<Range<usize>> {
    loop {
        scan.blanks();
        if !(scan.eat("\\\n") || scan.eat("\\\r\n")) {
            break;
        }
    }
    let start = scan.at;
    if start >= end || matches!(scan.peek(), b'\n' | b'\r' | b'|' | b';' | b'&' | b'`' | 0) {
        return None;
    }
    while !matches!(scan.peek(), b' ' | b'\t' | b'\n' | b'\r' | b'|' | b';' | b'`' | 0) {
        let mut ahead = *scan;
        match ahead.quote().filter(|_| scan.peek() != b'`') {
            Some(quote) => match ahead.string(quote) {
                Some((n, n_end)) => scan.at = ahead.at + n + n_end,
                // A quote that belongs to what the command stands in.
                None => break,
            },
            None if scan.rest().starts_with("\\\n") || scan.rest().starts_with("\\n") => break,
            None => scan.at += scan.rest().chars().next().map_or(1, char::len_utf8),
        }
    }
    if scan.at > start { Some(start..scan.at) } else { None }
}
