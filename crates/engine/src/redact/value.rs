//! The value of a name: in assignments of all kinds of languages, in headers, parameters, options and markup.

use std::ops::Range;

use super::between::{Between, between};
use super::header::{cookies, header};
use super::known::{Finding, Known};
use super::likely::{
    has_capital_first, has_digits_and_letters, is_code, is_id, is_name, is_name_of_code, is_number, is_one_word,
    is_path, opens_a_call,
};
use super::name::{Meaning, Weight};
use super::scan::{SHORTEST, Scan};
use super::screen::{is_long_hex, looks_like_chance};
use super::{split, table};

/// The secrets that the name at `name` has as its value, or as the head of a column.
pub(super) fn find(known: &'static Known, text: &str, name: Range<usize>) -> Vec<Finding> {
    let Some(word) = text.get(name.clone()) else { return Vec::new() };
    let mut scan = Scan::new(text, name.end);
    let between = between(known, &mut scan, text, &name);
    let (is_head, is_listed) = (table::may_be_head(text, name.end), table::may_be_listed(text, name.end));
    let Some(meaning) =
        (between.is_some() || is_head || is_listed).then(|| meaning(known, text, &name, word)).flatten()
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if is_head {
        found = table::find(known, text, &name, meaning);
    }
    if is_listed {
        found.extend(table::listed(known, text, &name, meaning));
    }
    let range = between.and_then(|between| match meaning.weight {
        Weight::Header => header(known, scan, between),
        Weight::Cookies if between < Between::Prose => cookies(known, scan, word),
        Weight::Cookies => None,
        Weight::Any | Weight::Chance => plain(known, text, scan, between, meaning, &name),
    });
    found.extend(range.map(|range| Finding { range, family: meaning.family }));
    found
}

/// The meaning of `word`, the name at `name`, with the word before it: of `API key`.
fn meaning(known: &Known, text: &str, name: &Range<usize>, word: &str) -> Option<Meaning> {
    let alone = known.names.meaning(word)?;
    let before = text.get(..name.start)?.strip_suffix(' ').unwrap_or_default();
    let n = before.bytes().rev().take(24).take_while(u8::is_ascii_alphanumeric).count();
    let owner = before.get(before.len() - n..).filter(|owner| !owner.is_empty());
    let is_owned = alone.weight == Weight::Chance
        && owner
            .and_then(|owner| known.names.meaning(&format!("{owner} {word}")))
            .is_some_and(|it| it.weight == Weight::Any);
    Some(Meaning { is_owned, ..alone })
}

/// The string in quotes ahead, where it can be a secret.
fn quoted(known: &Known, mut scan: Scan<'_>) -> Option<Range<usize>> {
    let quote = scan.quote()?;
    let (n, _) = scan.string(quote)?;
    let is_secret = n >= SHORTEST && !known.is_placeholder(scan.rest().get(..n)?);
    is_secret.then_some(scan.at..scan.at + n)
}

/// The value of any other name.
fn plain(
    known: &Known,
    text: &str,
    mut scan: Scan<'_>,
    between: Between,
    meaning: Meaning,
    name: &Range<usize>,
) -> Option<Range<usize>> {
    let start = scan.at;
    // `auth=("ann", "...")`
    if meaning.family == "authorization" && matches!(between, Between::Tight | Between::Spaced | Between::Colon) {
        let mut pair = scan;
        let is_open = pair.eat("(") || pair.eat("[");
        let user = pair.quote().filter(|_| is_open).and_then(|quote| pair.string(quote));
        if let Some((n, n_end)) = user {
            pair.at += n + n_end;
            pair.skip(b", ", 4);
            return quoted(known, pair);
        }
    }
    // `b"..."`, `String::from("...")`
    let wrapped = wrapper(&mut scan);
    if let Some(quote) = scan.quote() {
        if let Some((n, n_end)) = scan.string(quote) {
            let range = split::strings(text, scan.at..scan.at + n, n_end);
            let (value, first) = (text.get(range.clone())?, scan.rest().get(..n)?);
            let weight = if wrapped == Wrapped::InCall { Weight::Chance } else { meaning.weight };
            let meaning = Meaning { weight, ..meaning };
            let is_secret = |value: &str| is_string_secret(known, value, between, meaning);
            return (is_secret(first) || range.len() > n && is_secret(value)).then_some(range);
        }
        // A value without an end was cut off.
        let n = scan.word();
        let value = scan.rest().get(..n)?;
        return (n >= 12 && looks_like_chance(value) && !known.is_placeholder(value)).then_some(scan.at..scan.at + n);
    }
    if wrapped != Wrapped::Not || between == Between::Call {
        return None;
    }
    // A passphrase goes on to the end of its line.
    let rest = scan.line().trim_end();
    let is_phrase = text.get(name.clone())?.to_ascii_lowercase().contains("phrase")
        && matches!(between, Between::Colon | Between::Tight | Between::Spaced)
        && (3..=24).contains(&rest.split_whitespace().count())
        && rest.chars().all(|c| c.is_alphanumeric() || c == ' ' || c == '-');
    if is_phrase && !known.is_sentence(rest) {
        return Some(start..start + rest.len());
    }
    let n = bare(text, scan, between, name);
    let value = scan.rest().get(..n)?;
    if !is_bare_secret(known, scan, value, between, meaning, name, text) {
        return None;
    }
    Some(split::word(text, start..start + n))
}

/// Whether a string stands within a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrapped {
    Not,
    /// In one that makes a value of it, or behind a letter that says what kind of string it is.
    InConstructor,
    InCall,
}

fn wrapper(scan: &mut Scan<'_>) -> Wrapped {
    let rest = scan.rest();
    let n = rest.bytes().take(48).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:&@!".contains(byte)).count();
    let word = rest.get(..n).unwrap_or_default();
    let behind = rest.get(n..).unwrap_or_default();
    let is_string = |text: &str| text.starts_with(['"', '\'', '`']) || text.starts_with("\\\"");
    if n <= 2 && n > 0 && word.bytes().all(|byte| b"bBrRfFuUN@&".contains(&byte)) && is_string(behind) {
        scan.at += n;
        return Wrapped::InConstructor;
    }
    if n > 0 && behind.starts_with('(') && is_string(behind.get(1..).unwrap_or_default()) {
        scan.at += n + 1;
        let makes =
            ["from", "new", "Some", "String", "SecretStr", "Secret", "bytes", "str", "Buffer.from", "to_string", "of"];
        let last = word.rsplit("::").next().unwrap_or_default();
        return if makes.contains(&word) || makes.contains(&last) { Wrapped::InConstructor } else { Wrapped::InCall };
    }
    Wrapped::Not
}

/// Whether `value`, a whole string, is a secret.
fn is_string_secret(known: &Known, value: &str, between: Between, meaning: Meaning) -> bool {
    if value.len() < SHORTEST || value.contains('\n') && between == Between::Prose || known.is_placeholder(value) {
        return false;
    }
    let is_chance = looks_like_chance(value) && !is_code(value);
    match (meaning.weight, between) {
        (_, Between::Word) => false,
        (_, Between::Prose) => {
            is_chance && value.bytes().any(|byte| byte.is_ascii_digit())
                || meaning.family == "password" && known.looks_like_password(value)
        }
        (Weight::Chance, _) if is_id(value) => meaning.is_token && value.len() >= 16,
        (Weight::Chance, _) => is_chance || meaning.is_token && has_digits_and_letters(value),
        (_, Between::Call) if meaning.is_shouted || meaning.sets => !is_code(value) && !known.is_sentence(value),
        (_, Between::Call) => is_chance,
        _ if value.contains(char::is_whitespace) => {
            !known.is_sentence(value) && value.len() >= 8 && !value.contains(['(', '{', '=', '<', '/'])
        }
        _ => !is_code(value) && !is_path(value),
    }
}

/// The number of bytes of the word ahead that belong to the value.
fn bare(text: &str, scan: Scan<'_>, between: Between, name: &Range<usize>) -> usize {
    let whole = scan.word();
    let word = scan.rest().get(..whole).unwrap_or_default();
    let before = text.get(..name.start).unwrap_or_default();
    let is_parameter = before.ends_with(['?', '&']) || before.ends_with("\\u0026");
    let is_connection = before.trim_end().ends_with(';');
    let ends = |at: usize, c: char| {
        let behind = word.get(at + 1..).unwrap_or_default();
        match c {
            '&' | '#' => is_parameter,
            ';' => is_connection || is_assignment(behind) || (behind.is_empty() && between != Between::Markup),
            ',' => is_assignment(behind) || behind.is_empty(),
            '<' => between == Between::Markup || behind.starts_with('/'),
            '.' => behind.is_empty() && between >= Between::Prose,
            ')' | ']' | '}' => behind.is_empty() || behind.bytes().all(|byte| b")]};:,.".contains(&byte)),
            _ => false,
        }
    };
    word.char_indices().find(|(at, c)| ends(*at, *c)).map_or(whole, |(at, _)| at)
}

/// Whether `text` begins with a name and an equals sign or a colon.
fn is_assignment(text: &str) -> bool {
    let n = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-\"".contains(byte)).count();
    n > 0 && matches!(text.as_bytes().get(n), Some(b'=' | b':'))
}

/// Whether `value`, a word without quotes, is a secret.
fn is_bare_secret(
    known: &Known,
    scan: Scan<'_>,
    value: &str,
    between: Between,
    meaning: Meaning,
    name: &Range<usize>,
    text: &str,
) -> bool {
    let opens_code = value.starts_with(['{', '[', '(', '<', '|', '&', '=', '\\'])
        || value.starts_with('*') && between == Between::Colon
        || value.starts_with("--")
        || (value.contains("::") || value.contains('<') && value.contains('>')) && !meaning.is_shouted
        || value.starts_with('>') && value.len() < 3;
    if value.len() < SHORTEST || opens_code || known.is_placeholder(value) || is_code(value) || is_path(value) {
        return false;
    }
    let behind = scan.rest().get(value.len()..).unwrap_or_default();
    let line = behind.lines().next().unwrap_or_default();
    let ends_line =
        line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with(['"', '\'', '\\', '`']);
    let is_chance = looks_like_chance(value) && !is_id(value);
    let has_digit_or_mark = value.chars().any(|c| !c.is_ascii_alphabetic() && !"_.-:".contains(c));
    let is_password = meaning.family == "password";
    let is_number = is_number(value);
    let may_be_number = meaning.is_shouted && between == Between::Tight || is_password && value.len() >= 6;
    if is_number && !may_be_number || between != Between::Tight && opens_a_call(value, line) {
        return false;
    }
    match (meaning.weight, between) {
        // `a two-pass x86+SSE2 search`
        (_, Between::Word) if text.get(..name.end).is_some_and(|text| text.ends_with("-pass")) => false,
        (_, Between::Word) => {
            known.looks_like_token(value)
                || (meaning.weight == Weight::Any || meaning.is_owned) && known.looks_like_password(value)
        }
        (Weight::Chance, _) if meaning.is_owned && is_long_hex(value) => true,
        (_, Between::Prose) => {
            let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
            has_digit && (is_chance || is_password && value.len() >= 6 && !is_number && !is_id(value))
        }
        (Weight::Chance, _) => is_chance && !is_name_of_code(value, line),
        (_, Between::Tight) => {
            let lead = Scan::new(text, name.start).line_before();
            // Behind a bracket or before a comma stands code, where a word is a name.
            let is_argument =
                !meaning.is_shouted && line.starts_with([',', ')', ';', '.', '[']) && !lead.trim_end().ends_with(';');
            !(is_argument && is_name(value)) || is_chance
        }
        (_, Between::Spaced) => {
            has_digit_or_mark && !is_name_of_code(value, line)
                || ends_line && (is_chance || is_password && is_one_word(value) && !has_capital_first(value))
        }
        (_, Between::Colon) => {
            (ends_line && (has_digit_or_mark || is_chance || is_one_word(value) && !has_capital_first(value)))
                || is_chance && has_digit_or_mark && !is_name_of_code(value, line)
                || is_password && known.looks_like_password(value)
        }
        (_, Between::Blank) => {
            let is_followed = line.trim_start().starts_with(['-', '|', '&', ';', '>']);
            !value.starts_with('-') && (is_chance || has_digit_or_mark || !is_name(value) || ends_line || is_followed)
        }
        (_, Between::Markup) => true,
        (_, Between::Call) => false,
    }
}
