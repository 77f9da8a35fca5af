//! The status line of the client: what it hands over, on one line (C-06).

use serde::Deserialize;

use crate::report::size::count;

/// What the client hands to the command of its status line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    context_window: Window,
    prompt_cache: Option<Cache>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Window {
    context_window_size: Option<u64>,
    used_percentage: Option<f64>,
    current_usage: Option<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(rename = "input_tokens")]
    fresh: u64,
    #[serde(rename = "cache_creation_input_tokens")]
    cached: u64,
    #[serde(rename = "cache_read_input_tokens")]
    read: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cache {
    warm: Option<bool>,
}

/// The line. `part` of what is in use is what a compaction leaves at most.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "counts of tokens and percentages, for people"
)]
pub(crate) fn status_line(status: &Status, part: f64) -> String {
    let Status { context_window: Window { context_window_size: window, used_percentage, current_usage }, prompt_cache } =
        status;
    let used = current_usage.as_ref().map(|it| it.fresh + it.cached + it.read);
    let used = used.or_else(|| Some((window.as_ref().copied()? as f64 * used_percentage.as_ref()? / 100.0) as u64));
    let mut parts = Vec::new();
    match (used.filter(|used| *used > 0), window.filter(|window| *window > 0)) {
        (Some(used), Some(window)) => {
            let percent = (used as f64 * 100.0 / window as f64).round();
            parts.push(format!("context {} of {} ({percent}%)", count(used), count(window)));
        }
        (Some(used), None) => parts.push(format!("context {}", count(used))),
        (None, _) => return "ctxc: no usage yet".to_owned(),
    }
    if let Some(warm) = prompt_cache.as_ref().and_then(|cache| cache.warm) {
        parts.push(format!("cache {}", if warm { "warm" } else { "cold" }));
    }
    if let Some(used) = used {
        parts.push(format!("/compact saves about {}", count((used as f64 * (1.0 - part)) as u64)));
    }
    parts.join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-06
    #[test]
    fn c_06_the_line_has_usage_percent_cache_and_what_compacting_saves() {
        let line = |json: &str| status_line(&serde_json::from_str(json).unwrap(), 0.5);
        let whole = r#"{"context_window":{"context_window_size":200000,"used_percentage":39,"current_usage":{"input_tokens":1000,"cache_creation_input_tokens":2000,"cache_read_input_tokens":77000}},"prompt_cache":{"warm":false}}"#;
        assert_eq!(line(whole), "context 80,000 of 200,000 (40%) | cache cold | /compact saves about 40,000");
        let part = r#"{"context_window":{"context_window_size":200000,"used_percentage":10.0,"current_usage":null}}"#;
        assert_eq!(line(part), "context 20,000 of 200,000 (10%) | /compact saves about 10,000");
        assert_eq!(line("{}"), "ctxc: no usage yet");
    }
}
