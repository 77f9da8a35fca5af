//! Previews of a compaction in the client, for people (L-10): a comparison of the messages before and after.

use std::collections::HashMap;
use std::fmt;

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::answer::{CompactionAnswer, CompactionRequest};
use super::messages::{ClientMessage, Role};
use crate::report::size::{count, format_rounded};
use crate::session::error::CommandError;
use ctxc_transcript::PromptKind;
use ctxc_transcript::text::Tokens;

/// The message that a preview adds to the conversation, as Claude Code 2.1.330 writes it.
const COMMAND: &str = "<command-name>/ctxc:preview</command-name>\n            \
    <command-message>ctxc:preview</command-message>\n            <command-args></command-args>";

impl CompactionRequest {
    /// The request of a compaction after the preview, whose own message is in the conversation by then.
    ///
    /// # Errors
    /// When the message cannot be serialized.
    pub(crate) fn after_preview(mut self) -> Result<Self, CommandError> {
        let message = json!({"role": "user", "text": COMMAND, "toolUses": []});
        self.messages.push(to_raw_value(&message)?);
        Ok(self)
    }
}

/// A compaction that was planned but not made.
#[derive(Debug)]
pub(crate) struct Preview {
    before: Tokens,
    after: Tokens,
    prompts: KeptShare,
    results: KeptShare,
    /// The number of tool results replaced by placeholders or digests.
    n_shortened: usize,
    /// The headings of the summary; empty if all messages stay.
    sections: Vec<String>,
}

/// The number of unchanged messages of a kind.
#[derive(Debug)]
struct KeptShare {
    n_kept: usize,
    n_all: usize,
}

impl Preview {
    /// The preview of a compaction that answers `request` with `answer`.
    ///
    /// # Errors
    /// When the messages of either cannot be read.
    pub(crate) fn compare_views(request: &CompactionRequest, answer: &CompactionAnswer) -> Result<Self, CommandError> {
        let (before, after) = (read_messages(&request.messages)?, read_messages(&answer.messages)?);
        let (view, after) = after.split_first().map_or(("", after.as_slice()), |(view, rest)| (&view.text, rest));
        let left: HashMap<&str, &str> = results_of(after).collect();
        let results = || results_of(&before);
        let n_left = results().filter(|(id, _)| left.contains_key(id)).count();
        let n_kept = results().filter(|(id, text)| left.get(id) == Some(text)).count();
        let n_typed = |messages: &[ClientMessage]| messages.iter().filter(|message| is_typed(message)).count();
        // A conversation that was only pruned starts with a note, which is not a summary.
        let prompts = KeptShare { n_kept: n_typed(after), n_all: n_typed(&before) };
        let n_results = results().count();
        let has_summary = prompts.n_kept < prompts.n_all || n_left < n_results;
        Ok(Self {
            before: answer.tokens_before,
            after: answer.tokens_after,
            prompts,
            results: KeptShare { n_kept, n_all: n_results },
            n_shortened: n_left - n_kept,
            sections: view_headings(view).filter(|_| has_summary).map(str::to_owned).collect(),
        })
    }
}

fn read_messages(messages: &[Box<RawValue>]) -> Result<Vec<ClientMessage>, CommandError> {
    Ok(messages.iter().map(|raw| serde_json::from_str(raw.get())).collect::<Result<_, _>>()?)
}

/// The id and the text of each tool result.
fn results_of(messages: &[ClientMessage]) -> impl Iterator<Item = (&str, &str)> {
    messages.iter().flat_map(|message| &message.tool_results).map(|it| (it.id.as_str(), it.text.as_str()))
}

fn is_typed(message: &ClientMessage) -> bool {
    let text = message.text.trim();
    message.role == Role::User && !text.is_empty() && PromptKind::of_text(text.as_bytes()) == PromptKind::Typed
}

/// The headings of a view: `Words:` before the first `## HEADING`, and those.
fn view_headings(view: &str) -> impl Iterator<Item = &str> {
    let is_words =
        |text: &str| text.starts_with(char::is_uppercase) && text.chars().all(|c| c.is_alphabetic() || c == ' ');
    let mut has_sections = false;
    let mut seen = Vec::new();
    view.lines().filter_map(move |line| {
        let section = line.strip_prefix("## ");
        has_sections |= section.is_some();
        let heading = section.or_else(|| line.strip_suffix(':').filter(|text| !has_sections && is_words(text)))?;
        let is_new = !seen.contains(&heading);
        seen.push(heading);
        is_new.then_some(heading)
    })
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, prompts, results, n_shortened, sections } = self;
        let of =
            |KeptShare { n_kept, n_all }: &KeptShare| format!("{} of {}", count(*n_kept as u64), count(*n_all as u64));
        let (before, after) = (format_rounded(*before), format_rounded(*after));
        writeln!(f, "the next /compact: {before} -> {after} tokens, 0 requests; nothing is changed yet")?;
        write!(f, "stays      {} prompts, {} tool results", of(prompts), of(results))?;
        if *n_shortened > 0 {
            write!(f, "\nshortened  {} tool results, each with the command that shows it", count(*n_shortened as u64))?;
        }
        if !sections.is_empty() {
            write!(f, "\nsummary    the rest, with the words of every prompt: {}", sections.join(", "))?;
        }
        Ok(())
    }
}
