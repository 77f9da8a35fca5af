//! What a failure of a call means, in words for a person, whether asking again may help, and what else may.

use std::time::Duration;

use reqwest::StatusCode;

use super::body::{Failure, UsageBody};
use crate::{EngineError, Fault, Remedy};
use ctxc_transcript::text::on_one_line;

/// How much of what a server says is passed on.
const MOST_CHARS: usize = 300;

/// The failure of a reply with this status, which is none of success. `message` is what the server said, `waits`
/// whether it said when to come back.
pub(crate) fn of_status(status: StatusCode, message: &str, waits: Waits) -> EngineError {
    let said = if message.is_empty() { String::new() } else { format!(": {}", excerpt(message)) };
    let fault = match status.as_u16() {
        402 if waits == Waits::No => Fault::Fatal,
        402 | 429 => Fault::Limited,
        408 | 425 | 500..=599 => Fault::Trouble,
        // A redirect is not followed: the transcript goes where the user said, and nowhere else.
        300..=399 | 401 | 403 | 407 => Fault::Fatal,
        _ => Fault::Permanent,
    };
    if status.is_server_error() && BAD_FORM.iter().any(|words| message.contains(words)) {
        let words = "the reply was cut off at its limit, or has not the form that was asked for";
        return EngineError::new(Fault::BadReply, format!("{words} ({}){said}", status.as_u16()));
    }
    let (words, remedy) = in_words(status);
    EngineError { remedy, ..EngineError::new(fault, format!("{words} ({}){said}", status.as_u16())) }
}

/// What llama.cpp says, with a status of 500, of a reply that it cannot read by the schema that was asked for: most often one
/// that was cut off.
const BAD_FORM: [&str; 2] = ["does not match the expected", "Failed to parse input at pos"];

/// Whether a server said when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It did.
    Yes,
    /// It did not.
    No,
}

fn in_words(status: StatusCode) -> (&'static str, Option<Remedy>) {
    match status.as_u16() {
        300..=399 => ("the server sends the request elsewhere", Some(Remedy::Address)),
        400 => ("the server refuses the request", Some(Remedy::Model)),
        401 => ("the server refuses the key", Some(Remedy::Key)),
        402 => ("there is no credit left", Some(Remedy::Credit)),
        403 => ("the key may not do this", Some(Remedy::Permission)),
        404 => ("the server knows no such model or address", Some(Remedy::Model)),
        407 => ("the proxy refuses", Some(Remedy::Proxy)),
        408 => ("the server gave up waiting", None),
        429 => ("the server limits the rate", Some(Remedy::Rate)),
        500..=599 => ("the server has trouble", None),
        _ => ("the server refuses", None),
    }
}

/// The failure of a reply that is a web page: something on the way, such as a login or a page of maintenance, may be gone
/// soon.
pub(crate) fn of_web_page() -> EngineError {
    let error = EngineError::new(Fault::Trouble, "the server answers with a web page");
    EngineError { remedy: Some(Remedy::Address), ..error }
}

/// The failure in the body of anything else.
pub(crate) fn refusal_in(status: StatusCode, wait: Option<Duration>, body: &[u8]) -> EngineError {
    let failure: Failure = serde_json::from_slice(body).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    let message = match &failure.error {
        Some(error) => error.message.as_str(),
        None if is_web_page(body) => "",
        None => text.as_ref(),
    };
    let waits = if wait.is_some() { Waits::Yes } else { Waits::No };
    EngineError {
        retry_after: wait,
        usage: failure.usage.as_ref().map(UsageBody::usage),
        ..of_status(status, message, waits)
    }
}

/// Whether a body is a page for a browser.
pub(crate) fn is_web_page(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// The failure of a call that came to no reply. Its text names the causes and no part of the request.
pub(crate) fn of_network(error: reqwest::Error) -> EngineError {
    // What is in the URL is known, and may not be for everybody's eyes.
    let error = error.without_url();
    let mut causes = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(next) = cause {
        causes.push(next.to_string());
        cause = next.source();
    }
    causes.dedup();
    let text = causes.join(": ");
    let is_proxy = text.contains("tunnel") || text.contains("proxy");
    let (fault, words, remedy) = if is_proxy {
        (Fault::Trouble, "the proxy refuses", Some(Remedy::Proxy))
    } else if error.is_connect() {
        (Fault::Trouble, "the server cannot be reached", Some(Remedy::Address))
    } else {
        (Fault::Broken, "the connection broke", None)
    };
    EngineError { remedy, ..EngineError::new(fault, format!("{words} ({})", excerpt(&text))) }
}

/// The beginning of what a server said, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let words = on_one_line(text);
    match words.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{} ...", words.get(..at).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn r_03_what_is_asked_again_and_what_ends_the_run() {
        let fault = |status: u16, waits| of_status(StatusCode::from_u16(status).unwrap(), "", waits).fault;
        for status in [408, 425, 500, 502, 503, 504, 529] {
            assert_eq!(fault(status, Waits::No), Fault::Trouble, "{status}");
        }
        for status in [400, 404, 405, 413, 422] {
            assert_eq!(fault(status, Waits::No), Fault::Permanent, "{status}");
        }
        for status in [301, 307, 401, 402, 403, 407] {
            assert_eq!(fault(status, Waits::No), Fault::Fatal, "{status}");
        }
        assert_eq!((fault(402, Waits::Yes), fault(429, Waits::No)), (Fault::Limited, Fault::Limited));
    }

    // a server that cannot read what its model wrote is asked again at once, with more room.
    #[test]
    fn r_03_a_reply_that_the_server_cannot_read_is_a_bad_one() {
        let message = "The model produced output that does not match the expected peg-native format";
        let error = of_status(StatusCode::INTERNAL_SERVER_ERROR, message, Waits::No);
        assert_eq!((error.fault, error.remedy), (Fault::BadReply, None));
        assert!(error.to_string().starts_with("the reply was cut off at its limit, or has not the form"), "{error}");
        assert_eq!(of_status(StatusCode::BAD_REQUEST, message, Waits::No).fault, Fault::Permanent);
    }

    #[test]
    fn what_a_server_says_is_cut_and_put_on_one_line() {
        let error = of_status(StatusCode::BAD_REQUEST, "no\n such   model", Waits::No);
        assert_eq!(error.to_string(), "the server refuses the request (400): no such model");
        assert_eq!(excerpt(&"é".repeat(400)).chars().count(), MOST_CHARS + 4);
    }
}
