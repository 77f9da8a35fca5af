//! Labels in capitals before a statement: `NOTE: ...`.

/// Words of labels that name the kind of the statement, but not its subject.
const KINDS: &str = "ATTENTION CONSTRAINT CONTEXT CRITICAL DECISION FACT FYI GOAL HARD IMPORTANT INFO NB NOTE PREFERENCE \
    REMEMBER REMINDER REQUIREMENT RULE SAFETY SOFT STATE STATUS TASK UPDATE USER WARNING";
/// Labels of open tasks, which carry meaning themselves.
const OPEN: [&str; 2] = ["TODO", "FIXME"];

/// The label in capitals at the start of `text`, except those of open tasks, and the rest of the text.
#[must_use]
pub fn split_label(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.split_once(": ")?;
    let is_label = (2..=24).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b' ')
        && !OPEN.contains(&label);
    is_label.then_some((label, rest))
}

/// `text` without a label that names only the kind of the statement, which does not change its meaning.
#[must_use]
pub fn without_label(text: &str) -> &str {
    let is_kind = |word: &str| KINDS.split(' ').any(|kind| kind == word);
    split_label(text).filter(|(label, _)| label.split(' ').all(is_kind)).map_or(text, |(_, rest)| rest.trim_start())
}

/// Whether the label marks the statement as the goal of the work.
#[must_use]
pub fn has_goal_label(text: &str) -> bool {
    split_label(text).is_some_and(|(label, _)| label.split(' ').any(|word| matches!(word, "GOAL" | "TASK")))
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
        assert!(
            has_goal_label("GOAL: Ship it.") && !has_goal_label("NOTE: Ship it.") && split_label("FIXME: a").is_none()
        );
    }
}
