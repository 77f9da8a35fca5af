//! Credentials between the scheme and the server of a URL.

use std::ops::Range;

use super::known::{Finding, Known};
use super::screen::looks_like_chance;

const FAMILY: &str = "credentials in a URL";
/// No credentials are longer.
const LONGEST: usize = 512;

/// The credentials behind `mark`, which is `://`.
pub(super) fn find(known: &Known, text: &str, mark: Range<usize>) -> Option<Finding> {
    let rest = text.get(mark.end..)?;
    let ends = |c: char| c.is_whitespace() || c.is_control() || "/\"'<>`…".contains(c);
    // A password may hold a slash; a port does not.
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let before = rest.split(ends).next()?;
    let goes_on = !before.contains('@') && before.split_once(':').is_some_and(|(_, port)| !is_port(port));
    let ends = |c: char| ends(c) && !(goes_on && c == '/');
    let n = rest
        .char_indices()
        .take_while(|(at, c)| *at < LONGEST && !ends(*c))
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8());
    let n_credentials = rest.get(..n)?.rfind('@')?;
    let server = rest.get(n_credentials + 1..)?;
    if !text.get(..mark.start)?.ends_with(|c: char| c.is_ascii_alphanumeric())
        || !server.starts_with(|c: char| c.is_alphanumeric() || "[$%{<".contains(c))
    {
        return None;
    }
    let credentials = rest.get(..n_credentials)?;
    let (lead, secret, counts) = match credentials.split_once(':') {
        Some((user, password)) => (user.len() + 1, password, password.len() >= 3),
        None => (0, credentials, credentials.len() >= 16 && looks_like_chance(credentials)),
    };
    let start = mark.end + lead;
    // A password may start as a template does; one is a template from its start to its end.
    let ends = [("{", "}"), ("(", ")"), ("%(", ")s"), ("%{", "}")];
    let is_template = ends.iter().any(|(open, close)| secret.starts_with(open) && secret.ends_with(close))
        || ["%s", "%d", "%v"].contains(&secret)
        || secret.contains("**");
    (counts && !is_template && !known.is_placeholder(secret))
        .then_some(Finding { range: start..start + secret.len(), family: FAMILY })
}
