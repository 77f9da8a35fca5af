//! The runs of shell commands, and their effects on the ledger.

use super::call_files::{find_patch, patch_files};
use super::call_result::CallResult;
use super::calls::is_refusal;
use crate::plan::{
    CommandOutcome, Ledger, Repository, ShellOperator, ShellScript, TestReport, TestRun, command_folders,
    ends_in_search, find_file_effects, find_publications, git_subcommands, is_read_only_script, shows_output_end,
    split_leading_cd, status_shows_outcome, strip_output_filters, tests_or_builds,
};
use ctxc_transcript::text::resolve_path;

/// A run of a command in a folder, which is empty if it is unknown.
pub(super) struct CommandRun {
    command: String,
    folder: String,
    ending: CommandOutcome,
    /// Whether it tests or builds.
    is_check: bool,
}

impl CommandRun {
    /// Whether it failed.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.ending, CommandOutcome::Failed(_))
    }

    pub(super) fn note_in_ledger(self, ledger: &mut Ledger) {
        if self.is_check {
            ledger.note_verdict(&self.command, self.ending);
        }
        ledger.note_run(&self.command, &self.folder, self.ending);
    }
}

/// Whether words after a failure say that it was wanted: `Perfect, it is refused as expected`.
pub(super) fn approves_of_failure(words: &str) -> bool {
    const APPROVALS: [&str; 12] = [
        "perfect", "excellent", "as expected", "expected to fail", "fails correctly", "correctly re", "as intended",
        "完璧", "期待通り", "想定通り", "正しく", "符合预期",
    ];
    let line = words.trim_start().split(['\n', '。', '！']).next().unwrap_or_default();
    let first = line.split(". ").next().and_then(|first| first.split("! ").next()).unwrap_or_default().to_lowercase();
    !first.contains("not as ") && APPROVALS.iter().any(|approval| first.contains(approval))
}

/// The outcome that a result reports of itself, whatever its status: `{"success": true}`, or errors of a compiler where the command
/// is a check.
fn reported_outcome(text: &str, is_check: bool) -> CommandOutcome {
    if is_check && text.lines().any(is_compiler_error) {
        return CommandOutcome::Failed(None);
    }
    let json: Option<serde_json::Value> = serde_json::from_str(text.trim()).ok();
    match json.as_ref().and_then(|json| json.get("success")?.as_bool()) {
        Some(true) => CommandOutcome::Succeeded,
        Some(false) => CommandOutcome::Failed(None),
        None => CommandOutcome::Untold,
    }
}

/// Whether the line reports an error as compilers do: `src/a.go:12:2: undefined: x`, `error[E0308]: mismatched types`.
fn is_compiler_error(line: &str) -> bool {
    let mut parts = line.split(':');
    let is_path = |path: &str| path.contains('.') && !path.contains(' ');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_place =
        parts.next().is_some_and(is_path) && parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    let is_warning = parts.next().is_none_or(|message| message.trim_start().starts_with("warning"));
    line.starts_with("error[E") || is_place && !is_warning
}

/// Notes the effects of a command; returns its run unless it only looks or did not run.
pub(super) fn note_command(
    command: &str,
    folder: Option<&str>,
    answer: &CallResult<'_>,
    ledger: &mut Ledger,
) -> Option<CommandRun> {
    if is_refusal(answer.text) {
        return None;
    }
    let script = ShellScript::parse(command);
    if answer.is_error && has_stayed_out(&script, answer.text) || is_refused_by_shell(answer.text) {
        return None;
    }
    for (id, what) in find_publications(&script, answer.text, answer.is_error) {
        ledger.note_publication(id, what);
    }
    let repository = Repository::after_script(&script, answer.text, answer.is_error);
    if is_read_only_script(&script) {
        ledger.note_repository(repository);
        return None;
    }
    // A program that is not there has tested nothing.
    let is_missing = answer.exit_status() == Some(127) || first_line(answer.text).contains("command not found");
    let mut is_check = tests_or_builds(&script) && !is_missing;
    let run = TestRun::from_script(&script).or_else(|| TestRun::from_output(&script, answer.text));
    let run = run.filter(|_| !is_missing);
    let tested = run.map(|(run, at)| {
        let mut report = TestReport::parse(&run, answer.text);
        report.all_passed &= shows_output_end(&script, at, answer.text) && !answer.is_error;
        (run, at, report)
    });
    let report = tested.as_ref().map(|(_, _, report)| report);
    let ending = if answer.is_error && answer.exit_status() == Some(1) && ends_in_search(&script) {
        CommandOutcome::Untold
    } else if answer.is_error {
        CommandOutcome::Failed(answer.exit_status())
    } else if report.is_some_and(|report| !report.failed.is_empty()) {
        CommandOutcome::Failed(None)
    } else if answer.is_in_background() {
        CommandOutcome::Untold
    } else if status_shows_outcome(&script) || report.is_some_and(|report| report.all_passed) {
        CommandOutcome::Succeeded
    } else {
        reported_outcome(answer.text, is_check)
    };
    let (cd, rest) = split_leading_cd(command);
    let place = cd.map_or_else(|| folder.map(str::to_owned), |cd| Some(resolve_path(&cd, folder)));
    let command = strip_output_filters(rest);
    if let Some((run, at, report)) = tested {
        // A test that fails as it should is one still.
        if std::mem::take(&mut is_check) {
            ledger.note_verdict(command, ending);
        }
        let folder = command_folders(&script, folder).into_iter().nth(at).flatten();
        ledger.note_test_run(&run, report, folder.as_deref().unwrap_or_default());
    }
    if !answer.is_error && !answer.is_in_background() {
        for (path, action) in find_patch(command).into_iter().flat_map(|patch| patch_files(patch, folder)) {
            ledger.note_file_action(path, action);
        }
        for (path, action) in find_file_effects(&script, folder) {
            ledger.note_file_action(path, action);
        }
        if git_subcommands(&script).iter().any(|step| BRINGS_BACK.contains(step)) {
            let created =
                answer.text.lines().filter_map(|line| line.trim().strip_prefix("create mode ")?.split_once(' '));
            for (_, path) in created {
                ledger.note_checked_out(resolve_path(path, folder));
            }
        }
    }
    ledger.note_repository(repository);
    let folder = place.unwrap_or_default();
    Some(CommandRun { command: command.to_owned(), folder, ending, is_check })
}

/// Whether the script ended at the `cd` that it begins with, according to the first line of `output`.
fn has_stayed_out(script: &ShellScript, output: &str) -> bool {
    let is_cd =
        script.commands.first().is_some_and(|first| first.program_name() == "cd" && first.join == ShellOperator::And);
    let line = first_line(output);
    is_cd && (line.starts_with("cd:") || line.contains(" cd: ") || line.contains(":cd:"))
}

/// Whether the shell could not read the script, so that nothing was run.
pub(super) fn is_refused_by_shell(output: &str) -> bool {
    const REFUSALS: [&str; 3] =
        [": parse error near ", "syntax error near unexpected token", "unexpected EOF while looking for"];
    let line = first_line(output);
    ["(eval):", "bash: ", "/bin/bash: ", "zsh:", "sh: "].iter().any(|shell| line.starts_with(shell))
        && REFUSALS.iter().any(|refusal| line.contains(refusal))
}

/// The first line that was printed, below the status.
fn first_line(output: &str) -> &str {
    output.lines().find(|line| !line.starts_with("Exit code ") && !line.trim().is_empty()).unwrap_or_default()
}

/// The steps of git that make files.
const BRINGS_BACK: [&str; 4] = ["pull", "merge", "rebase", "checkout"];
