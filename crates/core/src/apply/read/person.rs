//! Tool results that carry what a person said: answers to questions, and refusals with or without a comment (K-01).
//!
//! The client hands them to the model as results, and nothing else in the transcript holds these words.

use std::collections::HashSet;

use ctxc_transcript::{IdHash, Index};

/// The tools that ask the person.
const ASKING: [&str; 3] = ["AskUserQuestion", "ExitPlanMode", "exit_plan_mode"];

/// Beginnings of results with which the person refused a call. Their text follows "the user said".
const REFUSALS: [&str; 5] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "The agent proposed a plan that was rejected by the user",
    "Permission for this tool use was denied",
    "[Request interrupted by user",
];

/// Whether a call of `tool` asks the person, so that its result is an answer.
#[must_use]
pub(in crate::apply) fn is_asking(tool: &str) -> bool {
    ASKING.contains(&tool)
}

/// Whether a result that begins so is a refusal by the person.
#[must_use]
pub(in crate::apply) fn is_persons_refusal(beginning: &str) -> bool {
    let beginning = beginning.trim_start();
    REFUSALS.iter().any(|start| beginning.starts_with(start))
}

/// The ids of all calls that ask the person.
#[must_use]
pub(in crate::apply) fn asking_calls(index: &Index) -> HashSet<IdHash> {
    let asks = |tool| is_asking(&index.tools.name(tool));
    index.tools.iter().filter(|end| end.tool.is_some_and(asks)).map(|end| end.id).collect()
}
