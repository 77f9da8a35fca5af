//! The view: what stands at the head of a compacted conversation (F-07).

use super::{Batch, Clip, Ledger};
use crate::text::Tokens;

/// The most tokens that are told of the ledger.
const STATE: Tokens = Tokens(800);

/// The head of a conversation whose older messages are in `batches`: the first and the last of them as `clip` says,
/// how to read those between, and what `ledger` knows. `session` is what the archive keeps them under.
#[must_use]
pub fn view(batches: &[Batch], clip: Clip, ledger: &Ledger, session: Option<&str>) -> String {
    let n_first = batches.len().min(clip.first as usize);
    let (first, rest) = batches.split_at(n_first);
    let (between, last) = rest.split_at(rest.len().saturating_sub(clip.last as usize));
    let mut parts = vec![opening(batches)];
    parts.extend(section("## Earliest context", first));
    if !between.is_empty() {
        parts.push(omitted(between, session));
    }
    parts.extend(section("## Recent context", last));
    if !ledger.is_empty() {
        parts.push(format!("## State\n\n{}", ledger.told(STATE)));
    }
    parts.join("\n\n")
}

fn opening(batches: &[Batch]) -> String {
    let n_messages: u64 = batches.iter().map(|batch| batch.n_messages).sum();
    format!("[Context Summary of the {n_messages} messages before those that follow]")
}

fn section(title: &str, batches: &[Batch]) -> Option<String> {
    let texts = batches.iter().map(|batch| format!("{}\n{}", batch.header(), batch.text.trim()));
    (!batches.is_empty()).then(|| format!("{title}\n\n{}", texts.collect::<Vec<_>>().join("\n\n")))
}

/// What tells of batches that are not shown.
fn omitted(between: &[Batch], session: Option<&str>) -> String {
    let n_omitted = between.len();
    let summaries = if n_omitted == 1 { "summary" } else { "summaries" };
    let session = session.map(|session| format!(" --session {session}")).unwrap_or_default();
    format!(
        "[... {n_omitted} earlier {summaries} omitted ...]\nThey are kept. Read them with the tool `memory_read`, or with `ctxc archive search WORDS --kind batch{session}`."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(n_batches: u64) -> Vec<Batch> {
        (1..=n_batches).map(|n| Batch { n_messages: 20, text: format!("what {n} said"), ..Batch::default() }).collect()
    }

    fn shown(n_batches: u64) -> String {
        view(&batches(n_batches), Clip::default(), &Ledger::default(), Some("s1"))
    }

    // F-07 [000 AC3.1, AC3.2]
    #[test]
    fn ac3_1_the_first_and_the_last_are_shown() {
        let view = shown(6);
        assert!(view.starts_with("[Context Summary"));
        let order = [
            "## Earliest context",
            "what 1 ",
            "what 2 ",
            "[... 2 earlier summaries omitted ...]",
            "`memory_read`",
            "## Recent context",
            "what 5 ",
            "what 6 ",
        ];
        let places: Vec<Option<usize>> = order.iter().map(|text| view.find(text)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{view}");
        assert!(!view.contains("what 3 ") && !view.contains("what 4 "));
    }

    // F-07 [000 AC3.4]
    #[test]
    fn ac3_4_all_are_shown_where_they_fit() {
        for n_batches in 1..=4 {
            let view = shown(n_batches);
            assert_eq!(view.matches("[depth:0|").count() as u64, n_batches);
            assert!(!view.contains("omitted"), "{view}");
        }
    }
}
