//! Effects of shell scripts that are certain without running them: files written and deleted, and whether a script is
//! read-only.

use serde::{Deserialize, Serialize};

use super::shell::{ShellCommand, ShellOperator, ShellScript, ShellWord};
use ctxc_transcript::text::{is_rooted, resolve_path};

/// An action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// The file was created.
    Created,
    /// The file was changed or overwritten.
    Edited,
    /// The file was deleted or moved away.
    Deleted,
    /// Its changes were taken back.
    Restored,
    /// The file was read.
    Read,
}

/// Programs that only read.
const LOOKS: [&str; 47] = [
    "ls", "lsd", "eza", "cat", "bat", "nl", "head", "tail", "grep", "egrep", "rg", "ag", "find", "fd", "wc", "pwd",
    "cd", "pushd", "popd", "echo", "printf", "awk", "sort", "uniq", "cut", "tr", "tree", "which", "whereis", "type",
    "file", "stat", "du", "df", "date", "whoami", "env", "printenv", "sleep", "true", "false", "test", "[", "diff",
    "jq", "less", "ps",
];
/// Subcommands of git that change nothing.
const GIT_LOOKS: [&str; 13] = [
    "status", "log", "diff", "show", "rev-parse", "blame", "ls-files", "ls-tree", "merge-base", "describe", "reflog",
    "grep", "shortlog",
];
/// Subcommands of `go` that change nothing.
const GO_LOOKS: [&str; 3] = ["doc", "env", "list"];
/// Verbs of `gh` (`gh pr VERB`) that change nothing.
const GH_LOOKS: [&str; 5] = ["view", "list", "status", "checks", "diff"];

/// Whether the script changes nothing: it lists, prints or searches.
#[must_use]
pub fn is_read_only_script(script: &ShellScript) -> bool {
    script.is_plain && script.commands.iter().all(is_read_only_command)
}

/// Whether the command changes nothing.
pub(super) fn is_read_only_command(command: &ShellCommand) -> bool {
    let is_so = match command.program_name() {
        "sed" => !edits_in_place(command),
        "git" => git_verb(command).is_none_or(|(verb, rest)| GIT_LOOKS.contains(&verb) || is_git_list(verb, rest)),
        "gh" => GH_LOOKS.contains(&command.word_at(2)),
        "go" => GO_LOOKS.contains(&command.word_at(1)) || asks_version(command),
        program => LOOKS.contains(&program) || asks_version(command),
    };
    is_so && command.outputs.iter().all(is_device)
}

fn asks_version(command: &ShellCommand) -> bool {
    command.words.len() == 2 && ["version", "--version", "-V", "--help"].contains(&command.word_at(1))
}

/// Whether a git subcommand that can change things only lists them here.
fn is_git_list(verb: &str, rest: &[ShellWord]) -> bool {
    let is_option = |word: &ShellWord| word.text.starts_with('-');
    match verb {
        "branch" | "tag" | "remote" | "stash" | "worktree" => rest.iter().all(|word| {
            ["-v", "-vv", "-a", "-r", "--list", "-l", "list", "--show-current"].contains(&word.text.as_str())
        }),
        "config" => rest.iter().any(|word| word.text.starts_with("--get") || word.text == "--list"),
        _ => !rest.is_empty() && rest.iter().all(is_option) && verb == "version",
    }
}

/// The subcommands of the git calls in a script, in order.
#[must_use]
pub fn git_subcommands(script: &ShellScript) -> Vec<&str> {
    script.commands.iter().filter_map(|command| Some(git_verb(command)?.0)).collect()
}

/// The subcommand of a git call and the words after it, without the options before it; `None` for other programs.
pub(crate) fn git_verb(command: &ShellCommand) -> Option<(&str, &[ShellWord])> {
    if command.program_name() != "git" {
        return None;
    }
    let mut at = 1;
    while command.word_at(at).starts_with('-') {
        // These options take a value.
        at += if ["-C", "-c"].contains(&command.word_at(at)) { 2 } else { 1 };
    }
    let (verb, rest) = command.words.get(at..)?.split_first()?;
    Some((&verb.text, rest))
}

fn edits_in_place(command: &ShellCommand) -> bool {
    command.words.iter().any(|word| word.text.starts_with("-i") || word.text == "--in-place")
}

fn is_device(path: &ShellWord) -> bool {
    path.text.starts_with("/dev/")
}

/// Whether the status of the script shows how its changes ended: no changing command is followed by one that hides its status.
#[must_use]
pub fn status_shows_outcome(script: &ShellScript) -> bool {
    let n_commands = script.commands.len();
    let hides = |(at, command): (usize, &ShellCommand)| match command.join {
        ShellOperator::Background => true,
        ShellOperator::Pipe | ShellOperator::Or | ShellOperator::Then => {
            at + 1 < n_commands && !is_read_only_command(command)
        }
        ShellOperator::And | ShellOperator::End => false,
    };
    script.is_plain && !script.commands.iter().enumerate().any(hides)
}

/// Whether the status of the script is that of a search in the output of another command, which is 1 if it finds nothing.
#[must_use]
pub fn ends_in_search(script: &ShellScript) -> bool {
    let [.., before, last] = script.commands.as_slice() else { return false };
    before.join == ShellOperator::Pipe && ["grep", "egrep", "fgrep", "rg", "ag"].contains(&last.program_name())
}

/// The folder in which each command of a script started in `folder` runs; `None` if it is not certain.
#[must_use]
pub fn command_folders(script: &ShellScript, folder: Option<&str>) -> Vec<Option<String>> {
    let mut folder = folder.map(str::to_owned);
    let mut folders = Vec::new();
    for command in &script.commands {
        folders.push(folder.clone());
        if ["cd", "pushd"].contains(&command.program_name()) {
            folder = command
                .command_operands()
                .next()
                .filter(|to| to.is_literal)
                .and_then(|to| absolute_path(&to.text, folder.as_deref()));
        }
    }
    folders
}

/// The absolute path; `None` if it is relative and the folder is unknown.
fn absolute_path(path: &str, folder: Option<&str>) -> Option<String> {
    (is_rooted(path) || folder.is_some()).then(|| resolve_path(path, folder))
}

/// The files that a script started in `folder` changed if it succeeded.
#[must_use]
pub fn find_file_effects(script: &ShellScript, folder: Option<&str>) -> Vec<(String, FileAction)> {
    let mut effects = Vec::new();
    if !script.is_plain {
        return effects;
    }
    let mut is_sure = true;
    for (command, folder) in script.commands.iter().zip(command_folders(script, folder)) {
        if is_sure {
            let found = command_effects(command);
            effects.extend(
                found.into_iter().filter_map(|(path, action)| Some((absolute_path(&path, folder.as_deref())?, action))),
            );
        }
        // A command after `||` may not have run.
        is_sure = command.join != ShellOperator::Or && (is_sure || command.join == ShellOperator::Then);
    }
    effects
}

fn command_effects(command: &ShellCommand) -> Vec<(String, FileAction)> {
    let (verb, words) = match git_verb(command) {
        Some(("rm", rest)) if !rest.iter().any(|word| word.text == "--cached") => ("rm", rest),
        Some(("mv", rest)) => ("mv", rest),
        Some(("restore", rest)) if !rest.iter().any(|word| word.text == "--staged") => ("restore", rest),
        Some(("checkout", rest)) => ("restore", rest.split_at(paths_start(rest)).1),
        Some(_) => ("", command.words.get(1..).unwrap_or_default()),
        None => (command.program_name(), command.words.get(1..).unwrap_or_default()),
    };
    let operands: Vec<&ShellWord> =
        words.iter().filter(|word| !word.text.starts_with('-') && !word.text.is_empty()).collect();
    let each = |operands: &[&ShellWord], action| {
        let literal = operands.iter().filter(|word| word.is_literal && !is_device(word));
        literal.map(|word| (word.text.clone(), action)).collect::<Vec<_>>()
    };
    let mut effects = match (verb, operands.as_slice()) {
        ("rm" | "unlink", operands) => each(operands, FileAction::Deleted),
        // All files are more than can be named.
        ("restore", operands) => {
            each(operands, FileAction::Restored).into_iter().filter(|(path, _)| path != ".").collect()
        }
        ("touch" | "tee", operands) => each(operands, FileAction::Edited),
        ("sed", [_, files @ ..]) if edits_in_place(command) => each(files, FileAction::Edited),
        ("mv", [sources @ .., to]) => {
            let mut effects = each(sources, FileAction::Deleted);
            effects.extend(moved_paths(sources, to).into_iter().map(|path| (path, FileAction::Created)));
            effects
        }
        ("cp", [sources @ .., to]) => {
            moved_paths(sources, to).into_iter().map(|path| (path, FileAction::Edited)).collect()
        }
        _ => Vec::new(),
    };
    effects.extend(each(&command.outputs.iter().collect::<Vec<_>>(), FileAction::Edited));
    effects
}

/// The place of the first path of `git checkout`, after a `--`.
fn paths_start(words: &[ShellWord]) -> usize {
    words.iter().position(|word| word.text == "--").map_or(words.len(), |at| at + 1)
}

/// The paths of `sources` after they are moved or copied to `to`.
fn moved_paths(sources: &[&ShellWord], to: &ShellWord) -> Vec<String> {
    if !to.is_literal || sources.iter().any(|source| !source.is_literal) {
        return Vec::new();
    }
    let name = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let is_folder = |source: &str| {
        let has_ending = |path: &str| name(path).trim_start_matches('.').contains('.');
        sources.len() > 1 || to.text.ends_with(['/', '.']) || has_ending(source) && !has_ending(&to.text)
    };
    let arrival = |source: &&ShellWord| {
        let to = &to.text;
        if is_folder(&source.text) {
            format!("{}/{}", to.trim_end_matches('/'), name(&source.text))
        } else {
            to.clone()
        }
    };
    sources.iter().map(arrival).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // F-13
    #[test]
    fn f_13_what_scripts_do_to_files_is_told_where_it_is_plain() {
        let cases: [(&str, &[&str]); 22] = [
            ("rm a.rs", &["Deleted /p/a.rs"]),
            ("cd /q && rm -rf 'b c' ../d", &["Deleted /q/b c", "Deleted /d"]),
            ("git rm -q src/a.rs && git commit -m x", &["Deleted /p/src/a.rs"]),
            ("git -C /q rm a", &["Deleted /p/a"]),
            ("git rm --cached a.rs", &[]),
            ("git checkout -- a.rs && git restore b.rs", &["Restored /p/a.rs", "Restored /p/b.rs"]),
            ("git restore --staged a.rs", &[]),
            ("mv a.rs b.rs", &["Deleted /p/a.rs", "Created /p/b.rs"]),
            ("mv a.db data", &["Deleted /p/a.db", "Created /p/data/a.db"]),
            ("git mv a b dir", &["Deleted /p/a", "Deleted /p/b", "Created /p/dir/a", "Created /p/dir/b"]),
            ("cp a.rs c/", &["Edited /p/c/a.rs"]),
            ("cat > a.txt <<'EOF'\nrm b\nEOF", &["Edited /p/a.txt"]),
            ("make 2>/dev/null | tee log", &["Edited /p/log"]),
            ("sed -i 's/a/b/' x.rs y.rs", &["Edited /p/x.rs", "Edited /p/y.rs"]),
            ("sed -n 1,5p x.rs", &[]),
            ("rm *.log", &[]),
            ("for f in a b; do rm $f; done", &[]),
            ("if true; then rm a; fi", &[]),
            ("test -e a || rm a", &[]),
            ("make || true; rm a", &["Deleted /p/a"]),
            ("cd $X && rm a", &[]),
            ("cd $X && rm /a", &["Deleted /a"]),
        ];
        for (script, expected) in cases {
            let effects = find_file_effects(&ShellScript::parse(script), Some("/p"));
            let told: Vec<String> = effects.iter().map(|(path, action)| format!("{action:?} {path}")).collect();
            assert_eq!(told, expected, "{script}");
        }
    }

    // F-13
    #[test]
    fn f_13_looking_is_told_from_doing_and_hidden_ends_from_open_ones() {
        let cases = [
            ("ls -la && cat a | head -5", true, true),
            ("git status && git log --oneline", true, true),
            ("git branch -a", true, true),
            ("git branch new", false, true),
            ("go version", true, true),
            ("bash -c 'X=$(go env GOMODCACHE) && grep a \"$X/b\"'", true, true),
            ("go doc fmt.Errorf", true, true),
            ("gh pr view 5", true, true),
            ("gh pr create", false, true),
            ("cat > a", false, true),
            ("cat a 2>/dev/null", true, true),
            ("cd a && cargo build", false, true),
            ("cargo build 2>&1 | tail -5", false, false),
            ("cargo build || true", false, false),
            ("npm start &", false, false),
            ("cargo fmt; cargo build", false, false),
            ("cd a; cargo build", false, true),
            ("for i in a; do make; done", false, false),
        ];
        for (script, looks, tells) in cases {
            let read = ShellScript::parse(script);
            assert_eq!((is_read_only_script(&read), status_shows_outcome(&read)), (looks, tells), "{script}");
        }
    }
}
