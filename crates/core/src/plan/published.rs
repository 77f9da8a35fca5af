//! Commits, pushes and pull requests that a script made, by what it printed.

use serde::{Deserialize, Serialize};

use super::effects::git_subcommands;
use super::shell::ShellScript;
use ctxc_transcript::text::clip_text;

/// A commit or a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publication {
    /// The title of a commit, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The branch that a commit was pushed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pushed_to: Option<String>,
}

/// The maximum number of characters of a title.
const TITLE: usize = 80;

impl Publication {
    /// With what is known of it later.
    pub(super) fn merge_later(self, later: Self) -> Self {
        Self { title: later.title.or(self.title), pushed_to: later.pushed_to.or(self.pushed_to) }
    }

    /// In words, with its id or address.
    pub(super) fn describe_with_id(&self, id: &str) -> String {
        let title = self.title.as_ref().map(|title| format!(" {}", clip_text(title, TITLE))).unwrap_or_default();
        let pushed = self.pushed_to.as_ref().map(|branch| format!(" (pushed to {branch})")).unwrap_or_default();
        format!("{id}{title}{pushed}")
    }
}

/// The commits by their ids and the pull requests by their addresses that `script`, which succeeded and printed `output`, made.
#[must_use]
pub fn find_publications(script: &ShellScript, output: &str) -> Vec<(String, Publication)> {
    let steps = git_subcommands(script);
    let opens = script
        .commands
        .iter()
        .any(|it| it.program_name() == "gh" && it.word_at(1) == "pr" && it.word_at(2) == "create");
    let of_line = |line: &str| {
        parse_commit_line(line)
            .filter(|_| steps.contains(&"commit"))
            .or_else(|| parse_push_line(line).filter(|_| steps.contains(&"push")))
            .or_else(|| {
                (opens && line.starts_with("https://") && line.contains("/pull/"))
                    .then(|| (line.to_owned(), Publication::default()))
            })
    };
    output.lines().filter_map(|line| of_line(line.trim())).collect()
}

/// A commit as git reports it: `[branch 4f2a91c] title`.
fn parse_commit_line(line: &str) -> Option<(String, Publication)> {
    let (place, title) = line.strip_prefix('[')?.split_once("] ")?;
    let (_, id) = place.rsplit_once(' ')?;
    let is_id = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| (id.to_owned(), Publication { title: Some(title.to_owned()), pushed_to: None }))
}

/// A push as git reports it: `4f2a91c..9ad2d73  main -> main`.
fn parse_push_line(line: &str) -> Option<(String, Publication)> {
    let (from, to) = line.split_once(" -> ")?;
    let (_, id) = from.trim_start_matches("+ ").split(' ').next()?.rsplit_once("..")?;
    let to = to.split(' ').next()?;
    Some((id.trim_start_matches('.').to_owned(), Publication { title: None, pushed_to: Some(to.to_owned()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-11
    #[test]
    fn k_11_commits_pushes_and_pull_requests_are_known_by_what_was_printed() {
        let of = |script: &str, output: &str| {
            let all = find_publications(&ShellScript::parse(script), output);
            all.iter().map(|(id, what)| what.describe_with_id(id)).collect::<Vec<_>>()
        };
        assert_eq!(
            of(
                "git add . && git commit -m x && git push",
                "[main (root-commit) 4f2a91c] Add it\n 1 file changed\nTo github.com:o/r.git\n   4f2a91c..9ad2d73  main -> main"
            ),
            ["4f2a91c Add it", "9ad2d73 (pushed to main)"]
        );
        assert_eq!(
            of("git -C /p push -f", " + 4f2a91c...9ad2d73 fix -> fix (forced update)"),
            ["9ad2d73 (pushed to fix)"]
        );
        assert_eq!(of("gh pr create --fill", "https://host/o/r/pull/17"), ["https://host/o/r/pull/17"]);
        for (script, output) in [
            ("git fetch", "   4f2a91c..9ad2d73  main -> origin/main"),
            ("git log", "[main 4f2a91c] Add it"),
            ("git push", "Everything up-to-date"),
        ] {
            assert!(of(script, output).is_empty(), "{script}");
        }
    }
}
