//! What stands between a name and its value, in all kinds of languages.

use std::ops::Range;

use super::scan::Scan;

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
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

/// Moves to where the value begins, and says what lies between.
pub(super) fn between(scan: &mut Scan<'_>, text: &str, name: &Range<usize>) -> Option<Between> {
    let is_quoted = matches!(scan.peek(), b'"' | b'\'' | b'\\' | b'`');
    scan.skip(b"\\\"'`]*?!", 10);
    let n_blanks = scan.blanks();
    let found = match scan.peek() {
        // A cell of a table, or the text of an element that is named so.
        b'|' if n_blanks > 0 && scan.eat("| ") => Between::Prose,
        b'>' if is_quoted && scan.eat(">") => Between::Prose,
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
    let is_set = lead.contains("config set ") || lead.contains("configure set ") || lead.contains("CONFIG SET ");
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
