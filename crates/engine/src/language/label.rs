//! Labels in capitals before a statement: `NOTE: ...`.

/// The words of labels that say what kind of statement follows, and nothing of what it is about.
const KINDS: &str = "ATTENTION CONSTRAINT CONTEXT CRITICAL DECISION FACT FYI GOAL HARD IMPORTANT INFO NB NOTE PREFERENCE \
    REMEMBER REMINDER REQUIREMENT RULE SAFETY SOFT STATE STATUS TASK UPDATE USER WARNING";
/// Labels that mark what is still to do, and say so wherever they stand.
const OPEN: [&str; 2] = ["TODO", "FIXME"];

/// The label in capitals that `text` starts with, and what follows it. Not one of what is still to do.
#[must_use]
pub fn label(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.split_once(": ")?;
    let is_label = (2..=24).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b' ')
        && !OPEN.contains(&label);
    is_label.then_some((label, rest))
}

/// `text` without a label that says no more than what kind of statement it is: what it says is the same.
#[must_use]
pub fn without_label(text: &str) -> &str {
    let is_kind = |word: &str| KINDS.split(' ').any(|kind| kind == word);
    label(text).filter(|(label, _)| label.split(' ').all(is_kind)).map_or(text, |(_, rest)| rest.trim_start())
}

/// Whether the label says that the statement is what is worked for.
#[must_use]
pub fn is_goal(text: &str) -> bool {
    label(text).is_some_and(|(label, _)| label.split(' ').any(|word| matches!(word, "GOAL" | "TASK")))
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-05
    #[test]
    fn k_05_only_a_label_that_names_the_kind_of_statement_can_go() {
        for (text, without) in [
            ("HARD CONSTRAINT: Never push.", "Never push."),
            ("NOTE: It runs on arm64.", "It runs on arm64."),
            ("API: Use v2.", "API: Use v2."),
            ("TODO: Write it.", "TODO: Write it."),
            ("Note: It runs.", "Note: It runs."),
        ] {
            assert_eq!(without_label(text), without);
        }
        assert!(is_goal("GOAL: Ship it.") && !is_goal("NOTE: Ship it.") && label("FIXME: a").is_none());
    }
}
