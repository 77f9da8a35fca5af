//! What is said before texts leave the machine, and the question whether they may.

use anyhow::anyhow;

use super::error::CommandError;
use crate::report::calls::CallsReport;
use crate::report::size::{count, counted};
use crate::session::options::{Asking, Consent, Secrets};
use crate::terminal::ui::Ui;
use ctxc_engine::Usd;
use ctxc_store::ArchiveUrl;
use ctxc_transcript::text::Tokens;

/// What is about to be sent.
pub(crate) struct Offer<'a> {
    /// The calls, and what they are expected to cost.
    pub(crate) expected: &'a CallsReport,
    /// The tokens of all texts.
    pub(crate) tokens: Tokens,
    /// What one of them is.
    pub(crate) noun: &'a str,
}

/// Says what goes where, and asks a person who has not said yes before.
pub(crate) fn offer(what: &Offer<'_>, asking: &Asking, ui: &Ui) -> Result<(), CommandError> {
    let Offer { expected, tokens, noun } = what;
    let endpoint = &asking.server.endpoint;
    if expected.cached > 0 {
        ui.status(format_args!("{} from the cache", were(expected.cached, "result")));
    }
    if expected.calls == 0 {
        return Ok(());
    }
    let models: Vec<&str> = expected.models.keys().map(String::as_str).collect();
    let secrets = match asking.secrets {
        Secrets::Replaced => format!("{} replaced", counted(expected.secrets_replaced, "secret")),
        Secrets::Sent => "secrets not replaced".to_owned(),
    };
    let cost = match &expected.expected_cost {
        Some(range) if range.high == Usd::ZERO => "no cost".to_owned(),
        Some(range) => format!("about {} to {}", range.low, range.high),
        None => "unknown cost".to_owned(),
    };
    ui.status(format_args!(
        "engine    chat: sends {} ({} tokens) to {} ({}), {secrets}, {cost}",
        counted(expected.calls, noun),
        count(tokens.0),
        endpoint.host(),
        models.join(", "),
    ));
    if endpoint.is_in_the_clear() {
        ui.warning(format_args!("{} is contacted without encryption", endpoint.host()));
    }
    if asking.consent == Consent::Ask && ui.confirm("send them?")? == Some(false) {
        return Err(
            CommandError::from(anyhow!("cancelled: the texts were not sent")).hint("--engine extract works offline")
        );
    }
    Ok(())
}

/// Refuses to store a whole session in the archive at `url` where that is on a server, unless its user wants it (N-09). One
/// that the server has already is there.
pub(crate) fn allow_on_server(url: &str, consent: Consent, is_there: bool, ui: &Ui) -> Result<(), CommandError> {
    let Ok(ArchiveUrl::Postgres(server)) = url.parse() else { return Ok(()) };
    if consent == Consent::Given || is_there {
        return Ok(());
    }
    let answer = ui.confirm(&format!("store whole sessions in {server}?"))?;
    let error = match answer {
        Some(true) => return Ok(()),
        Some(false) => anyhow!("cancelled: nothing was stored in {server}"),
        None => anyhow!("whole sessions are stored in {server} only with your consent"),
    };
    Err(CommandError::from(error).hint("set keep_on_server = true in your own ctxc.toml, or use another --archive"))
}

/// Says that results are not kept for another run.
pub(crate) fn warn_not_cached(error: &str, ui: &Ui) {
    ui.warning(format_args!("results are not cached: cannot {error}"));
}

/// What is left of a run that ends with nothing written, `n_cached` replies having been kept.
pub(crate) fn left_behind(n_cached: usize) -> String {
    if n_cached == 0 {
        return "nothing was written".to_owned();
    }
    let results = are(n_cached as u64, "result");
    format!("nothing was written; {results} kept, so that the next run asks for the rest alone")
}

/// `3 results were`.
pub(crate) fn were(n: u64, noun: &str) -> String {
    format!("{} {}", counted(n, noun), if n == 1 { "was" } else { "were" })
}

/// `3 results are`.
fn are(n: u64, noun: &str) -> String {
    format!("{} {}", counted(n, noun), if n == 1 { "is" } else { "are" })
}
