//! The view: what stands at the head of a compacted conversation (F-07).

use std::collections::HashSet;

use super::{Batch, Clip, Ledger};
use ctxc_transcript::text::Tokens;

/// What is said above what is told of the ledger.
const STATE_IS: &str = "Derived from the tool calls, not summarized; newest first.";
/// The most tokens that are told of the ledger.
const STATE: Tokens = Tokens(800);

/// The head of a conversation whose older messages are in `batches`: the first and the last of them as `clip` says,
/// how to read those between, and what `ledger` knows. `session` is what the archive keeps them under.
///
/// Summaries carry on those before them: an item that stands word for word in one that is shown above is not shown again.
#[must_use]
pub fn view(batches: &[Batch], clip: Clip, ledger: &Ledger, session: Option<&str>) -> String {
    let n_first = batches.len().min(clip.first as usize);
    let (first, rest) = batches.split_at(n_first);
    let (between, last) = rest.split_at(rest.len().saturating_sub(clip.last as usize));
    let mut shown = HashSet::new();
    let mut parts = vec![opening(batches, session)];
    parts.extend(section("## Earliest context", first, &mut shown));
    if !between.is_empty() {
        parts.push(omitted(between, session));
    }
    parts.extend(section("## Recent context", last, &mut shown));
    let state = ledger.told(STATE);
    if !state.is_empty() {
        parts.push(format!("## State\n\n{STATE_IS}\n\n{state}"));
    }
    parts.join("\n\n")
}

fn opening(batches: &[Batch], session: Option<&str>) -> String {
    let n_messages: u64 = batches.iter().map(|batch| batch.n_messages).sum();
    let messages = if n_messages == 1 { "message" } else { "messages" };
    let session = session.map(|session| format!(" --session {session}")).unwrap_or_default();
    format!(
        "[Context Summary of {n_messages} earlier {messages}, made by ctxc. The messages after this one follow them word for word. \
         To read an earlier one as it was, run `ctxc archive search WORDS{session}`.]"
    )
}

fn section<'b>(title: &str, batches: &'b [Batch], shown: &mut HashSet<&'b str>) -> Option<String> {
    let texts = batches.iter().map(|batch| format!("{}\n{}", batch.header(), news(&batch.text, shown)));
    (!batches.is_empty()).then(|| format!("{title}\n\n{}", texts.collect::<Vec<_>>().join("\n\n")))
}

/// `text` without the items of lists that are in `shown`, which gets those that are left, and without headings that have
/// no item left.
fn news<'b>(text: &'b str, shown: &mut HashSet<&'b str>) -> String {
    let mut kept: Vec<&str> = Vec::new();
    // A heading waits for its first item, and goes where all its items are shown above.
    let mut heading: Option<&str> = None;
    let mut has_lost = false;
    for block in blocks(text.trim()).into_iter().chain([END]) {
        if block.starts_with("- ") && !shown.insert(block) {
            has_lost = true;
            continue;
        }
        let ends_list = block.is_empty() || is_heading(block) || block == END;
        match heading.take() {
            Some(_) if ends_list && has_lost => {}
            waiting => kept.extend(waiting),
        }
        if is_heading(block) {
            (heading, has_lost) = (Some(block), false);
        } else if !(block.is_empty() && kept.last().is_none_or(|line| line.is_empty())) {
            kept.push(block);
        }
    }
    let kept = kept.join("\n");
    let kept = kept.trim_end_matches(END).trim();
    if kept.is_empty() { "(nothing that is not said above)".to_owned() } else { kept.to_owned() }
}

/// What stands behind the last block.
const END: &str = "\0";

/// The lines of `text`, an item of a list together with what is set in under it.
fn blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.find('\n').unwrap_or(rest.len());
        while rest.starts_with("- ") {
            let behind = rest.get(end..).unwrap_or_default();
            let gap = behind.len() - behind.trim_start_matches('\n').len();
            let set_in = behind.get(gap..).filter(|next| (1..=2).contains(&gap) && next.starts_with("  "));
            let Some(set_in) = set_in else { break };
            end += gap + set_in.find('\n').unwrap_or(set_in.len());
        }
        blocks.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    blocks
}

/// Whether a line stands over a list: `Decided:`.
fn is_heading(line: &str) -> bool {
    line.ends_with(':') && !line.starts_with(' ') || line.starts_with('#')
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

    // F-07 [000 AC3.2]
    #[test]
    fn ac3_2_what_is_omitted_is_counted_with_how_to_read_it() {
        for (n_batches, said) in
            [(5, "[... 1 earlier summary omitted ...]"), (6, "[... 2 earlier summaries omitted ...]")]
        {
            let view = shown(n_batches);
            let (_, behind) = view.split_once(said).unwrap();
            let (hint, _) = behind.split_once("## Recent context").unwrap();
            assert!(
                hint.contains("memory_read") && hint.contains("ctxc archive search WORDS --kind batch --session s1")
            );
        }
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

    #[test]
    fn what_is_said_above_is_not_said_again() {
        let batch = |text: &str| Batch { n_messages: 20, text: text.to_owned(), ..Batch::default() };
        let batches = [
            batch("Asked:\n- Fix it\n\n  all of it\n\nDecided:\n- Use a map\n  of names\n- Keep b"),
            batch("Asked:\n- Fix it\n\n  all of it\n- Test it\n\nDecided:\n- Use a map\n  of names"),
            batch("Asked:\n- Fix it\n\n  all of it"),
        ];
        let mut ledger = Ledger::default();
        ledger.touch("/p/a.rs", super::super::Action::Edited);
        insta::assert_snapshot!(view(&batches, Clip::default(), &ledger, None), @r"
        [Context Summary of 60 earlier messages, made by ctxc. The messages after this one follow them word for word. To read an earlier one as it was, run `ctxc archive search WORDS`.]

        ## Earliest context

        [depth:0|start:-|end:-|count:20]
        Asked:
        - Fix it

          all of it

        Decided:
        - Use a map
          of names
        - Keep b

        [depth:0|start:-|end:-|count:20]
        Asked:
        - Test it

        ## Recent context

        [depth:0|start:-|end:-|count:20]
        (nothing that is not said above)

        ## State

        Derived from the tool calls, not summarized; newest first.

        Files edited: /p/a.rs
        ");
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
