//! What a model is told that folds messages into a summary: the default, or the words of the user (F-11).
//!
//! What is filled in is filled in once: a message that holds `{messages}` stays as it is. The transcript is fenced as data
//! either way.

use super::prompt::{Prompt, dense_tokens};
use crate::{Fold, Said};
use ctxc_transcript::text::{Digest, Tokens, chars4};

/// The version of the prompts for folding.
pub const FOLD_PROMPT_VERSION: &str = "fold-1";

const RULES: &str = include_str!("prompts/1/fold.md");
const OWN: &str = include_str!("prompts/1/fold-own.md");
const FORM: &str = include_str!("prompts/1/fold-form.md");

/// What stands for a summary where there is none yet.
const NO_SUMMARY: &str = "(no prior summary)";
/// Models write more than they are allowed, so that they are told less, in percent.
const ALLOWED: u64 = 85;

impl Prompt {
    /// The messages that ask for `fold`.
    pub(super) fn of_fold(fold: &Fold<'_>) -> Self {
        let tag = tag(fold);
        let target = (fold.limit.0.saturating_mul(ALLOWED) / 100).max(1);
        let (size, chars) = (target.to_string(), target.saturating_mul(4).to_string());
        let summary = if fold.existing.trim().is_empty() {
            NO_SUMMARY.to_owned()
        } else {
            fenced("summary", &tag, fold.existing)
        };
        let messages = fenced("messages", &tag, &said(fold.messages, &tag));
        let persona = fold.persona.trim();
        let paragraph = if persona.is_empty() { String::new() } else { format!("{persona}\n\n") };
        let rules = |text: &str| {
            let values = [("tag", tag.as_str()), ("target", &size), ("chars", &chars), ("persona", &paragraph)];
            format!("{}{}", fill(text, &values), FORM.trim_end())
        };
        match fold.prompt {
            None => Self { system: rules(RULES), user: format!("{summary}\n\n{messages}") },
            Some(own) => Self {
                system: rules(OWN),
                user: fill(own, &[("persona", persona), ("existing_summary", &summary), ("messages", &messages)]),
            },
        }
    }
}

/// The most tokens that a reply to `fold` may have: half as much again as the limit in tokens of a model, with room for
/// the object around it, and more each time that the last reply was of no use.
pub(super) fn max_tokens_of_fold(fold: &Fold<'_>, attempt: u32) -> u64 {
    let texts = || std::iter::once(fold.existing).chain(fold.messages.iter().map(|said| said.text.as_str()));
    let dense: u64 = texts().map(dense_tokens).sum();
    let chars4: u64 = texts().map(|text| chars4(text).0).sum();
    let limit = fold.limit.0.saturating_mul(dense.max(1)).div_ceil(chars4.max(1));
    limit.saturating_mul(100 + 50 * u64::from(attempt.min(4))).div_ceil(100) + 64
}

/// The size of what leaves for `fold` beside the rules.
pub(super) fn size(fold: &Fold<'_>) -> Tokens {
    chars4(fold.existing) + fold.messages.iter().map(|said| chars4(&said.text)).sum()
}

/// Named after all that is fenced, so that nothing within it closes the fence.
fn tag(fold: &Fold<'_>) -> String {
    let texts = fold.messages.iter().map(|said| said.text.as_str());
    let all = std::iter::once(fold.existing).chain(texts).collect::<Vec<_>>().join("\0");
    let digest = Digest::of(all.as_bytes()).to_string();
    digest.get(..16).unwrap_or(&digest).to_owned()
}

fn fenced(name: &str, tag: &str, text: &str) -> String {
    format!("<{name}-{tag}>\n{text}\n</{name}-{tag}>")
}

fn said(messages: &[Said], tag: &str) -> String {
    let messages = messages.iter().filter(|said| !said.text.trim().is_empty());
    let lines = messages.map(|said| format!("[{tag} {}]\n{}", said.speaker, said.text.trim_end()));
    lines.collect::<Vec<_>>().join("\n\n")
}

/// `template` with the value of each name in braces, wherever it stands. Braces around anything else stay.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let found = values.iter().find_map(|(name, value)| {
            let after = behind.strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, after))
        });
        let (value, after) = found.unwrap_or(("{", behind));
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<Said> {
        [("user", "Fix {messages} in {persona}."), ("assistant", "Done.\n"), ("tool", " ")]
            .map(|(speaker, text)| Said { speaker: speaker.to_owned(), text: text.to_owned() })
            .to_vec()
    }

    fn fold<'a>(existing: &'a str, persona: &'a str, prompt: &'a str, messages: &'a [Said]) -> Fold<'a> {
        Fold { existing, messages, limit: Tokens(100), persona, prompts: crate::Prompts::Compete, prompt: Some(prompt) }
    }

    // 000 AC6.3, F-11
    #[test]
    fn ac6_3_f_11_an_own_prompt_is_filled_wherever_its_names_stand_and_once() {
        let messages = messages();
        let own = "{persona}: {messages} after {existing_summary}; {persona} {other} {} {";
        let fold = fold("It began {existing_summary}.", "Ann {messages}", own, &messages);
        let tag = tag(&fold);
        assert_eq!(
            Prompt::of_fold(&fold).user,
            format!(
                "Ann {{messages}}: <messages-{tag}>\n[{tag} user]\nFix {{messages}} in {{persona}}.\n\n[{tag} assistant]\nDone.\n\
                 </messages-{tag}> after <summary-{tag}>\nIt began {{existing_summary}}.\n</summary-{tag}>; \
                 Ann {{messages}} {{other}} {{}} {{"
            )
        );
    }

    // 000 AC6.4, F-11
    #[test]
    fn ac6_4_f_11_what_is_not_there_is_said_so() {
        let messages = messages();
        let user = |existing, persona| {
            Prompt::of_fold(&fold(existing, persona, "[{persona}] [{existing_summary}]", &messages)).user
        };
        assert_eq!(user("", ""), "[] [(no prior summary)]");
        assert_eq!(user(" \n", " "), "[] [(no prior summary)]");
        assert!(user("It began.", "Ann").starts_with("[Ann] [<summary-"));
        // The default has a place for it that closes when it is empty.
        let system = |persona| Prompt::of_fold(&Fold { prompt: None, ..fold("", persona, "", &messages) }).system;
        assert!(system("").contains("is lost.\n\nThe next message"));
        assert!(system("You are {target}.").contains("is lost.\n\nYou are {target}.\n\nThe next message"));
    }
}
