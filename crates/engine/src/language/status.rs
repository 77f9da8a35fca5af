//! Reports on tests and other checks, which hold until something is changed or the check is run again.

const PASSES: [&str; 5] = ["pass", "passed", "passes", "passing", "green"];
/// Words of the same that are said of a build alone.
const SUCCEEDS: [&str; 4] = ["succeeds", "succeeded", "successful", "successfully"];
/// Words between a check and its outcome.
const FILLERS: [&str; 7] = ["all", "everything", "is", "are", "now", "still", "again"];
/// Deeds: a sentence with one reports more than how checks ended.
const DEEDS: [&str; 20] = [
    "add", "fix", "updat", "implement", "remov", "renam", "creat", "refactor", "chang", "commit", "push", "merg",
    "resolv", "mov", "writ", "wrote", "replac", "修正", "追加", "実装",
];
/// A longer sentence reports more than how checks ended, in bytes.
const REPORT: usize = 120;

/// Whether tests or their kin pass in the text in lower case, two words away at most: `passes` alone may be what a function does
/// with a value.
pub(crate) fn passes_checks(lower: &str) -> bool {
    says_of_checks(lower, &PASSES)
}

fn says_of_checks(lower: &str, outcomes: &[&str]) -> bool {
    let words: Vec<&str> = words_of(lower).filter(|word| !FILLERS.contains(word)).collect();
    let is_beside = |pair: &[&str]| {
        pair.iter().any(|word| outcomes.contains(word)) && pair.iter().any(|word| check_kind(word).is_some())
    };
    words.windows(3).any(is_beside) || is_beside(&words) && words.len() < 3
}

/// Whether the text says that all tests or checks pass.
pub(crate) fn says_all_pass(text: &str) -> bool {
    let lower = text.to_lowercase();
    let says_all =
        ["all ", "every ", "全", "すべて", "alle ", "tous ", "todos "].iter().any(|word| lower.contains(word));
    says_all && passes_checks(&lower) && !lower.ends_with(['?', '？'])
}

/// Whether the text says that checks pass and nothing besides: "Tests pass.", "All green."
pub(super) fn reports_passing(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_bare = || {
        let mut rest = words_of(&lower).filter(|word| !FILLERS.contains(word)).peekable();
        rest.peek().is_some() && rest.all(|word| PASSES.contains(&word))
    };
    let is_about_build = || says_of_checks(&lower, &SUCCEEDS);
    text.len() <= REPORT
        && !lower.ends_with(['?', '？'])
        && !words_of(&lower).any(|word| DEEDS.iter().any(|deed| word.starts_with(deed)))
        && (is_bare() || passes_checks(&lower) || is_about_build())
}

/// The tests and other checks that the text names, by the word for each kind.
pub(crate) fn named_checks(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let mut kinds: Vec<&str> = words_of(&lower).filter_map(check_kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn words_of(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The kind of the checks that the word names, which pass when all is well.
fn check_kind(word: &str) -> Option<&'static str> {
    match word {
        "lint" | "linter" | "clippy" | "eslint" | "ruff" | "biome" => Some("lint"),
        "build" | "compile" => Some("build"),
        "typescript" | "tsc" | "typecheck" | "mypy" => Some("types"),
        "test" | "tests" | "suite" | "specs" | "pytest" | "vitest" | "nextest" | "jest" => Some("test"),
        "check" | "checks" | "ci" => Some("check"),
        _ => ["テスト", "测试"].iter().any(|end| word.ends_with(end)).then_some("test"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-11
    #[test]
    fn k_11_reports_that_checks_pass_are_known() {
        for text in [
            "Tests pass.",
            "All passing.",
            "Build successful.",
            "All 32 tests pass and ruff is clean.",
            "✅ **`npm run check` is now passing locally!**",
            "Everything is green.",
            "全テスト pass、lint 0 issues。",
        ] {
            assert!(reports_passing(text), "{text}");
        }
        for text in [
            "Fixed the parser, and all tests pass.",
            "Do the tests pass?",
            "It passes the buffer on.",
            "The latest passes are slow.",
            "Clean the build folder first.",
            "Everything is in `a.rs`.",
        ] {
            assert!(!reports_passing(text), "{text}");
        }
    }

    // K-11
    #[test]
    fn k_11_checks_are_known_by_their_kinds() {
        assert_eq!(named_checks("The lint fails, and so do the tests in CI."), ["check", "lint", "test"]);
        assert_eq!(named_checks("cargo build --release"), ["build"]);
        assert!(named_checks("the latest one").is_empty());
    }
}
