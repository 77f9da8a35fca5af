//! The value of a name: in assignments of all kinds of languages, in headers, parameters, options and markup.

use std::ops::Range;

use super::name::{Meaning, Weight};
use super::rules::{Finding, Rules};
use super::scan::Scan;
use super::screen::{looks_like_chance, parts, reads_like_words};
use super::split;

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    /// `=` with nothing around it, as in a shell and in files of variables.
    Tight,
    /// `=` and its kin with blanks around it.
    Spaced,
    /// `:`, as in YAML and headers.
    Colon,
    /// `,` or `(` before a string: `define("DB_PASSWORD", "...")`, `setPassword("...")`.
    Call,
    /// `>`, as in XML.
    Markup,
    /// A blank behind an option, `--password ...`, or a name that takes its value so: netrc, Dockerfiles, SQL.
    Blank,
    /// A blank and no more is known, or the word `is`.
    Prose,
}

/// The least bytes of a value of a sure name, and of any other.
const SHORTEST: usize = 4;

/// The secret that the name at `name` has as its value.
pub(super) fn find(rules: &'static Rules, text: &str, name: Range<usize>) -> Option<Finding> {
    let mut scan = Scan::new(text, name.end);
    let (between, word) = (between(&mut scan, text, &name)?, text.get(name.clone())?);
    let meaning = rules.names.meaning(word)?;
    let range = match meaning.weight {
        Weight::Header => header(rules, scan, between)?,
        Weight::Cookies if between != Between::Prose => cookies(rules, scan, word)?,
        Weight::Cookies => return None,
        Weight::Any | Weight::Chance => plain(rules, text, scan, between, meaning, &name)?,
    };
    Some(Finding { range, family: meaning.family })
}

/// The password of `IDENTIFIED BY '...'`, which ends at `at`.
pub(super) fn clause(rules: &Rules, text: &str, at: usize) -> Option<Finding> {
    let mut scan = Scan::new(text, at);
    let quote = scan.quote()?;
    let (n, _) = scan.string(quote)?;
    let is_secret = n >= SHORTEST && !rules.screen.is_placeholder(scan.rest().get(..n)?);
    is_secret.then_some(Finding { range: scan.at..scan.at + n, family: "password" })
}

/// Moves to where the value begins, and says what lies between.
fn between(scan: &mut Scan<'_>, text: &str, name: &Range<usize>) -> Option<Between> {
    let is_quoted = matches!(scan.peek(), b'"' | b'\'' | b'\\' | b'`');
    scan.skip(b"\\\"'`]*?!", 10);
    let n_blanks = scan.blanks();
    let found = match scan.peek() {
        b'=' | b':' | b'!' | b'|' | b'?' => operator(scan, n_blanks)?,
        // `getenv("X_TOKEN", "...")`, and no list of words.
        b',' if is_quoted && text.get(..name.start)?.trim_end_matches(['"', '\'', '\\', '`']).ends_with('(') => {
            scan.at += 1;
            Between::Call
        }
        b'(' if n_blanks == 0 && !is_quoted => {
            scan.at += 1;
            Between::Call
        }
        b'>' if text.get(..name.start)?.ends_with('<') => {
            scan.at += 1;
            Between::Markup
        }
        b'<' if scan.eat("<<<") => Between::Blank,
        _ if n_blanks > 0 && !is_quoted => blank(scan, text, name)?,
        b',' if is_quoted && names_its_value(scan.rest()) => Between::Call,
        _ if is_quoted && scan.rest().starts_with("value") => Between::Call,
        b'\n' if scan.rest().trim_start().starts_with("value:") => Between::Call,
        _ => return None,
    };
    // A list of names and values: `"name": "X_TOKEN", "value": "..."`, and the same in YAML and XML.
    let mut ahead = *scan;
    if found == Between::Call {
        ahead.skip(b", \t\n\r\\\"'", 40);
        let is_value = ["value", "Value"].into_iter().any(|word| ahead.eat(word));
        ahead.skip(b"\\\"' ", 8);
        if is_value && (ahead.eat("=") || ahead.eat(":")) {
            *scan = ahead;
            scan.blanks();
            return Some(Between::Spaced);
        }
    }
    let n_behind = scan.blanks();
    if scan.peek() == b'\n' && matches!(found, Between::Spaced | Between::Tight | Between::Call) {
        // A string may stand in the next line.
        let mut ahead = *scan;
        ahead.skip(b" \t\r\n", 80);
        if ahead.quote().is_some() {
            scan.skip(b" \t\r\n", 80);
        }
    }
    Some(if found == Between::Tight && n_behind > 0 { Between::Spaced } else { found })
}

/// Whether the value of a list of names and values follows: `, "value": "..."`.
fn names_its_value(rest: &str) -> bool {
    rest.trim_start_matches([',', ' ', '\t', '\n', '\r', '"', '\'', '\\']).starts_with("value")
}

fn operator(scan: &mut Scan<'_>, n_blanks: usize) -> Option<Between> {
    let is_spaced = n_blanks > 0;
    let words = ["===", "!==", "==", "!=", "=>", ":=", "||=", "||", "??=", "??", "?=", "=~"];
    if words.into_iter().any(|word| scan.eat(word)) {
        return Some(Between::Spaced);
    }
    if scan.eat("=") {
        return Some(if is_spaced { Between::Spaced } else { Between::Tight });
    }
    if scan.rest().starts_with("::") || !scan.eat(":") {
        return None;
    }
    typed(scan);
    // `**Password:** x`
    scan.skip(b"*", 2);
    Some(Between::Colon)
}

/// Moves behind a type and its equals sign: `password: str = "..."`.
fn typed(scan: &mut Scan<'_>) {
    let line = scan.line();
    let Some(at) = line.find('=').filter(|at| *at < 60) else { return };
    let is_type = |c: char| c.is_ascii_alphanumeric() || " _<>&'[]|?.:".contains(c);
    let before = line.get(..at).unwrap_or_default();
    let behind = line.get(at + 1..).unwrap_or_default().trim_start();
    if before.ends_with(' ') && before.chars().all(is_type) && behind.starts_with(['"', '\'', '`']) {
        scan.at += at + 1;
    }
}

/// What a blank behind a name means.
fn blank(scan: &mut Scan<'_>, text: &str, name: &Range<usize>) -> Option<Between> {
    let before = text.get(..name.start)?;
    let word = text.get(name.clone())?;
    if before.ends_with('-') {
        return Some(Between::Blank);
    }
    let lead = Scan::new(text, name.start).line_before();
    let first = lead.split_whitespace().next().unwrap_or_default();
    let is_netrc = word == "password" && lead.contains("login ");
    let is_line = matches!(word, "requirepass" | "masterauth") && lead.trim().is_empty();
    let is_variable =
        matches!(first, "ENV" | "setx" | "set" | "ARG") && word.len() > 3 && lead.split_whitespace().count() <= 3;
    let is_set = lead.contains("config set ") || lead.contains("CONFIG SET ");
    if is_netrc || is_line || is_variable || is_set {
        return Some(Between::Blank);
    }
    if matches!(scan.peek(), b'\'' | b'"') && (word == "PASSWORD" || word == "SECRET") {
        return Some(Between::Blank);
    }
    // `SET PASSWORD FOR 'ann' = '...'`
    if scan.rest().starts_with("FOR ") || scan.rest().starts_with("for ") {
        let line = scan.line();
        let at = line.find('=').filter(|at| *at < 80)?;
        let is_string = line.get(at + 1..)?.trim_start().starts_with(['"', '\'']);
        scan.at += at + 1;
        return is_string.then_some(Between::Spaced);
    }
    let is_said = ["is: ", "is ", "was ", "= ", "to "].into_iter().any(|word| scan.eat(word));
    (is_said || matches!(scan.peek(), b'`' | b'"' | b'\'')).then_some(Between::Prose)
}

/// The value of `Authorization`, without its scheme.
fn header(rules: &Rules, mut scan: Scan<'_>, between: Between) -> Option<Range<usize>> {
    // `"Authorization": "Bearer ..."`, `f"Bearer {token}"`
    scan.skip(b"fbru", 1).checked_sub(1).and_then(|_| {
        if matches!(scan.peek(), b'"' | b'\'') {
            Some(())
        } else {
            scan.at -= 1;
            None
        }
    });
    let is_quoted = scan.quote().is_some();
    let line = scan.line();
    let mut words = line.split([' ', '\t']);
    let first = words.next()?;
    let scheme = first.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let schemes = [
        "bearer",
        "token",
        "basic",
        "bot",
        "apikey",
        "api-key",
        "key",
        "digest",
        "negotiate",
        "ntlm",
        "aws4-hmac-sha256",
        "jwt",
        "sso-key",
        "splunk",
        "genie-key",
        "discogs",
        "pve",
    ];
    let has_scheme = schemes.contains(&scheme.to_ascii_lowercase().as_str()) && line.len() > first.len() + 1;
    if has_scheme {
        scan.at += first.len() + 1;
        scan.blanks();
        if matches!(scheme.to_ascii_lowercase().as_str(), "digest" | "aws4-hmac-sha256") {
            let n = scan.line().trim_end().trim_end_matches(['"', '\'', '\\']).len();
            return (n >= 16).then_some(scan.at..scan.at + n);
        }
    }
    let mut n = scan.word();
    while n > 0 && scan.rest().as_bytes().get(n - 1).is_some_and(|byte| b",;)}].".contains(byte)) {
        n -= 1;
    }
    let value = scan.rest().get(..n)?;
    let ends_line = scan.rest().get(n..)?.starts_with(['"', '\'', '\\', '\n', '\r', '`']) || scan.rest().len() == n;
    let counts = if has_scheme && (between == Between::Colon || is_quoted) {
        !rules.screen.is_placeholder(value) && !is_code(value)
    } else {
        (has_scheme || is_quoted || ends_line)
            && looks_like_chance(value)
            && !rules.screen.is_placeholder(value)
            && !is_code(value)
    };
    (n >= SHORTEST && counts).then_some(scan.at..scan.at + n)
}

/// The cookies of a header or of a string.
fn cookies(rules: &Rules, mut scan: Scan<'_>, name: &str) -> Option<Range<usize>> {
    let n = if let Some(quote) = scan.quote() {
        scan.string(quote)?.0
    } else {
        let line = scan.line();
        line.find(['"', '\'', '`', '\\']).unwrap_or(line.trim_end().len())
    };
    let mut value = scan.rest().get(..n)?;
    if name.len() > "cookies".len() {
        value = value.split(';').next()?;
    }
    let (key, first) = value.split_once('=')?;
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
    let is_value = first.len() >= SHORTEST && !first.starts_with([' ', '=', '>']) && !is_code(value);
    (is_key && is_value && !rules.screen.is_placeholder(first)).then_some(scan.at..scan.at + value.len())
}

/// The value of any other name.
fn plain(
    rules: &Rules,
    text: &str,
    mut scan: Scan<'_>,
    between: Between,
    meaning: Meaning,
    name: &Range<usize>,
) -> Option<Range<usize>> {
    let start = scan.at;
    // `b"..."`, `String::from("...")`
    let wrapped = wrapper(&mut scan);
    if let Some(quote) = scan.quote() {
        if let Some((n, n_end)) = scan.string(quote) {
            let range = split::strings(text, scan.at..scan.at + n, n_end);
            let value = text.get(range.clone())?;
            let weight = if wrapped == Wrapped::InCall { Weight::Chance } else { meaning.weight };
            return is_string_secret(rules, value, between, Meaning { weight, ..meaning }).then_some(range);
        }
        // What has no end was cut off.
        let n = scan.word();
        let value = scan.rest().get(..n)?;
        return (n >= 12 && looks_like_chance(value) && !rules.screen.is_placeholder(value))
            .then_some(scan.at..scan.at + n);
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
    if is_phrase && !rules.screen.is_sentence(rest) {
        return Some(start..start + rest.len());
    }
    let n = bare(text, scan, between, name);
    let value = scan.rest().get(..n)?;
    if !is_bare_secret(rules, scan, value, between, meaning, name, text) {
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
    if n <= 2 && n > 0 && word.bytes().all(|byte| b"bBrRfFuU@&".contains(&byte)) && is_string(behind) {
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
fn is_string_secret(rules: &Rules, value: &str, between: Between, meaning: Meaning) -> bool {
    if value.len() < SHORTEST || value.contains('\n') && between == Between::Prose || rules.screen.is_placeholder(value)
    {
        return false;
    }
    let is_chance = looks_like_chance(value) && !is_code(value);
    match (meaning.weight, between) {
        (_, Between::Prose) => is_chance && value.bytes().any(|byte| byte.is_ascii_digit()),
        (Weight::Chance, _) if is_id(value) => meaning.is_token && value.len() >= 16,
        (Weight::Chance, _) => is_chance || meaning.is_token && has_digits_and_letters(value),
        (_, Between::Call) if meaning.is_shouted || meaning.sets => !is_code(value) && !rules.screen.is_sentence(value),
        (_, Between::Call) => is_chance,
        _ if value.contains(char::is_whitespace) => {
            !rules.screen.is_sentence(value) && value.len() >= 8 && !value.contains(['(', '{', '=', '<', '/'])
        }
        _ => !is_code(value) && !is_path(value),
    }
}

/// How many bytes of the word ahead are the value.
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
    rules: &Rules,
    scan: Scan<'_>,
    value: &str,
    between: Between,
    meaning: Meaning,
    name: &Range<usize>,
    text: &str,
) -> bool {
    let opens_code = value.starts_with(['{', '[', '(', '<', '|', '&', '=', '\\'])
        || value.starts_with("//")
        || value.starts_with('*') && between == Between::Colon
        || value.starts_with("--")
        || (value.contains("::") || value.contains('<') && value.contains('>')) && !meaning.is_shouted
        || value.starts_with('>') && value.len() < 3;
    if value.len() < SHORTEST || opens_code || rules.screen.is_placeholder(value) || is_code(value) || is_path(value) {
        return false;
    }
    let behind = scan.rest().get(value.len()..).unwrap_or_default();
    let line = behind.lines().next().unwrap_or_default();
    let ends_line =
        line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with(['"', '\'', '\\', '`']);
    let is_chance = looks_like_chance(value) && !is_id(value);
    let has_digit_or_mark = value.chars().any(|c| !c.is_ascii_alphabetic() && !"_.-:".contains(c));
    let is_password = meaning.family == "password";
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
    if is_number && !meaning.is_shouted && !(is_password && value.len() >= 6) {
        return false;
    }
    match (meaning.weight, between) {
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
        }
        (_, Between::Blank) => {
            let is_followed = line.trim_start().starts_with(['-', '|', '&', ';', '>']);
            !value.starts_with('-') && (is_chance || has_digit_or_mark || !is_name(value) || ends_line || is_followed)
        }
        (_, Between::Markup) => true,
        (_, Between::Call) => false,
    }
}

/// Whether `value` is one word of letters and digits.
fn has_digits_and_letters(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.len() >= 8
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn has_capital_first(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_uppercase()) && value.chars().skip(1).any(|c| c.is_ascii_lowercase())
}

/// Whether `value` is letters of one word, or chance.
fn is_one_word(value: &str) -> bool {
    value.chars().all(char::is_alphanumeric) && parts(value).count() == 1
}

/// Whether `value` has the form of a name in code.
fn is_name(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || "_.:?!".contains(c))
        && (reads_like_words(value) || is_snake(value))
}

/// Whether `value` is short words with underscores between them.
fn is_snake(value: &str) -> bool {
    value.contains('_')
        && value.split('_').all(|part| part.len() <= 12 && part.bytes().filter(u8::is_ascii_digit).count() <= 3)
}

/// Whether `value` is a name that code goes on behind.
fn is_name_of_code(value: &str, line: &str) -> bool {
    is_name(value) || line.starts_with(['(', '[', '.'])
}

/// Whether `value` is code: a call, a path through objects, an operator.
fn is_code(value: &str) -> bool {
    let calls = value.match_indices(['(', '[']).any(|(at, _)| {
        let before = value.get(..at).unwrap_or_default();
        before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && (reads_like_words(before) || before.len() == 2)
            && before.len() >= 2
    });
    let is_path = value.contains('.')
        && value.split('.').all(|part| {
            part.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "_[]()?!'\"".contains(c))
        })
        && value.split('.').any(|part| part.len() > 3 && reads_like_words(part));
    let has_operator = ["::", "->", "=>", "&&", "||", "==", "()", "?.", "</", "/>", "${", "!="]
        .iter()
        .any(|word| value.contains(word));
    calls || is_path || has_operator && reads_like_words(value)
}

/// Whether `value` leads to a file, or is an address.
fn is_path(value: &str) -> bool {
    let opens = ["/", "./", "../", "~/", "file:", "http://", "https://", "env:", "arn:", "op://"];
    opens.iter().any(|word| value.starts_with(word)) && (reads_like_words(value) || value.contains("://"))
        || value.contains('/')
            && !value.contains(|c: char| !(c.is_ascii_alphanumeric() || "/._-@".contains(c)))
            && reads_like_words(value)
}

/// Whether `value` is a digest, a UUID or a number, which say nothing under a name that is not sure.
fn is_id(value: &str) -> bool {
    let is_hex = value.len() >= 7 && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let has_prefix = value.split_once([':', '-', '_']).is_some_and(|(lead, rest)| {
        lead.len() <= 12
            && lead.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && rest.len() >= 7
            && rest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    });
    is_hex || has_prefix
}
