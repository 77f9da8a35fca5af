//! Commits, pushes and pull requests that a script made, by what it printed.

use serde::{Deserialize, Serialize};

use super::effects::git_subcommands;
use super::shell::{ShellCommand, ShellScript};
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
    /// The commit that it took the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<ReplacedCommit>,
    /// The end of a pull request or an issue: merged, closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
}

/// A commit that another one took the place of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplacedCommit {
    /// The one before it.
    Before,
    /// The one with this id.
    Id(String),
}

/// The maximum number of characters of a title.
const TITLE: usize = 80;

impl Publication {
    /// With what is known of it later.
    pub(super) fn merge_later(self, later: Self) -> Self {
        Self {
            title: later.title.or(self.title),
            pushed_to: later.pushed_to.or(self.pushed_to),
            replaced: later.replaced.or(self.replaced),
            end: later.end.or(self.end),
        }
    }

    /// In words, with its id or address.
    fn describe_with_id(&self, id: &str) -> String {
        let title = self.title.as_ref().map(|title| format!(" {}", clip_text(title, TITLE))).unwrap_or_default();
        let pushed = self.pushed_to.as_ref().map(|branch| format!(" (pushed to {branch})")).unwrap_or_default();
        let end = self.end.as_ref().map(|end| format!(" ({end})")).unwrap_or_default();
        format!("{id}{title}{pushed}{end}")
    }
}

/// All that was published, in words, the latest first.
#[derive(Debug, Default)]
pub(super) struct PublishedInWords {
    /// Pull requests and issues.
    pub(super) requests: Vec<String>,
    /// The commits that still hold.
    pub(super) commits: Vec<String>,
}

impl PublishedInWords {
    /// `all`, by ids and addresses, the latest last.
    pub(super) fn of<'p>(all: impl Iterator<Item = (&'p String, &'p Publication)>) -> Self {
        let mut requests: Vec<(&str, Publication)> = Vec::new();
        let mut commits: Vec<(&str, &Publication)> = Vec::new();
        for (id, what) in all {
            let number = id.rsplit(['/', '#']).next();
            if id.starts_with('#') || id.contains("://") {
                match requests.iter_mut().find(|(known, _)| known.rsplit(['/', '#']).next() == number) {
                    Some((_, known)) => *known = std::mem::take(known).merge_later(what.clone()),
                    None => requests.push((id, what.clone())),
                }
                continue;
            }
            match &what.replaced {
                Some(ReplacedCommit::Before) => drop(commits.pop()),
                Some(ReplacedCommit::Id(old)) => {
                    commits.retain(|(known, _)| !known.starts_with(old.as_str()) && !old.starts_with(known));
                }
                None => {}
            }
            commits.push((id, what));
        }
        Self {
            requests: requests.iter().rev().map(|(id, what)| what.describe_with_id(id)).collect(),
            commits: commits.iter().rev().map(|(id, what)| what.describe_with_id(id)).collect(),
        }
    }
}

/// The steps of git that make commits and say so.
const COMMITS: [&str; 3] = ["commit", "cherry-pick", "revert"];

/// The commits by their ids, and the pull requests and issues by their addresses or numbers, that `script` made or changed and
/// printed as `output`.
#[must_use]
pub fn find_publications(script: &ShellScript, output: &str, is_error: bool) -> Vec<(String, Publication)> {
    let steps = git_subcommands(script);
    let amends = script.commands.iter().any(|it| it.words.iter().any(|word| word.text == "--amend"));
    let requests: Vec<&ShellCommand> =
        script.commands.iter().filter(|command| command.program_name() == "gh").collect();
    let opens = requests.iter().find(|it| ["pr", "issue"].contains(&it.word_at(1)) && it.word_at(2) == "create");
    let of_line = |line: &str| {
        parse_commit_line(line)
            .filter(|_| COMMITS.iter().any(|step| steps.contains(step)))
            .map(|(id, commit)| (id, Publication { replaced: amends.then_some(ReplacedCommit::Before), ..commit }))
            .or_else(|| parse_push_line(line).filter(|_| steps.contains(&"push")))
            .or_else(|| {
                let is_address = line.starts_with("https://") && (line.contains("/pull/") || line.contains("/issues/"));
                let title = option_value(opens.filter(|_| is_address)?, &["--title", "-t"]);
                Some((line.to_owned(), Publication { title, ..Publication::default() }))
            })
    };
    let mut published: Vec<_> = output.lines().filter_map(|line| of_line(line.trim())).collect();
    published.extend(requests.iter().filter(|_| !is_error).filter_map(|command| ended_request(command)));
    published
}

/// The pull request or issue that a call of `gh` merged or closed, by its number.
fn ended_request(command: &ShellCommand) -> Option<(String, Publication)> {
    let end = match command.word_at(2) {
        "merge" => "merged",
        "close" => "closed",
        "reopen" => "open",
        _ => return None,
    };
    let number = command.operands().nth(2)?.text.rsplit('/').next()?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (format!("#{number}"), Publication { end: Some(end.to_owned()), ..Publication::default() }))
}

/// The word after one of `options`.
fn option_value(command: &ShellCommand, options: &[&str]) -> Option<String> {
    let at = command.words.iter().position(|word| options.contains(&word.text.as_str()))?;
    command.words.get(at + 1).map(|word| word.text.clone()).filter(|value| !value.is_empty())
}

/// A commit as git reports it: `[branch 4f2a91c] title`.
pub(super) fn parse_commit_line(line: &str) -> Option<(String, Publication)> {
    let (place, title) = line.strip_prefix('[')?.split_once("] ")?;
    let (_, id) = place.rsplit_once(' ')?;
    let is_id = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| (id.to_owned(), Publication { title: Some(title.to_owned()), ..Publication::default() }))
}

/// A push as git reports it: `4f2a91c..9ad2d73  main -> main`, or a forced one: `+ 4f2a91c...9ad2d73 main -> main`.
fn parse_push_line(line: &str) -> Option<(String, Publication)> {
    let (from, to) = line.split_once(" -> ")?;
    let (old, id) = from.trim_start_matches("+ ").split(' ').next()?.rsplit_once("..")?;
    let to = to.split(' ').next()?;
    let replaced = old.strip_suffix('.').map(|old| ReplacedCommit::Id(old.to_owned()));
    Some((id.to_owned(), Publication { pushed_to: Some(to.to_owned()), replaced, ..Publication::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(steps: &[(&str, &str)]) -> PublishedInWords {
        let mut all: Vec<(String, Publication)> = Vec::new();
        for (id, what) in
            steps.iter().flat_map(|(script, output)| find_publications(&ShellScript::parse(script), output, false))
        {
            let known = all.iter().position(|(known, _)| *known == id).map(|at| all.remove(at).1);
            all.push((id, known.unwrap_or_default().merge_later(what)));
        }
        PublishedInWords::of(all.iter().map(|(id, what)| (id, what)))
    }

    // K-11
    #[test]
    fn k_11_commits_pushes_and_pull_requests_are_known_by_what_was_printed() {
        let of = |script: &str, output: &str| {
            let PublishedInWords { requests, commits } = of(&[(script, output)]);
            [requests, commits].concat()
        };
        assert_eq!(
            of(
                "git add . && git commit -m x && git push",
                "[main (root-commit) 4f2a91c] Add it\n 1 file changed\nTo github.com:o/r.git\n   4f2a91c..9ad2d73  main -> main"
            ),
            ["9ad2d73 (pushed to main)", "4f2a91c Add it"]
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

    // K-11
    #[test]
    fn k_11_a_replaced_commit_no_longer_holds_and_a_request_has_its_end() {
        let PublishedInWords { requests, commits } = of(&[
            ("git commit -m a", "[main 1111111] a"),
            ("git commit -m b && git push", "[main 2222222] b\n   1111111..2222222  main -> main"),
            ("git commit --amend -m c", "[main 3333333] c"),
            ("git commit -m d", "[main 4444444] d"),
            ("git push -f", " + 4444444...5555555 main -> main (forced update)"),
            ("gh issue create --title 'A bug'", "https://host/o/r/issues/6"),
            ("gh pr create -t 'Mend it'", "https://host/o/r/pull/7"),
            ("gh pr merge --squash 7 && gh pr close 5", ""),
        ]);
        assert_eq!(commits, ["5555555 (pushed to main)", "3333333 c", "1111111 a"]);
        let told = ["#5 (closed)", "https://host/o/r/pull/7 Mend it (merged)", "https://host/o/r/issues/6 A bug"];
        assert_eq!(requests, told);
    }
}
