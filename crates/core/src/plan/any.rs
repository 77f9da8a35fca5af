//! Entry points for property tests and fuzz targets that read arbitrary bytes as a command or as the output of tests.

use super::{
    Runner, Script, TestReport, TestRun, effects, folders, only_looks, shows_its_end, tells_its_end, without_cd,
    without_tail,
};

/// Whether `bytes`, decoded lossily, are read as a command without a panic, and trimming them yields a part of them.
#[must_use]
pub fn reads_any_shell(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let script = Script::read(&text);
    let _ =
        (only_looks(&script), tells_its_end(&script), folders(&script, Some("/src")), effects(&script, Some("/src")));
    let run = TestRun::of(&script).or_else(|| TestRun::behind(&script, &text));
    let _ = run.map(|(_, at)| shows_its_end(&script, at, &text));
    text.contains(without_cd(&text).1) && text.contains(without_tail(&text))
}

/// Whether `bytes`, decoded lossily, are read as the output of each runner, and no report has both failures and `all_passed`.
#[must_use]
pub fn reads_any_test_report(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let commands = ["cargo test", "pytest tests", "npx jest", "go test ./...", "cargo test name", "pytest a.py::b"];
    let runs = commands.iter().filter_map(|command| TestRun::of(&Script::read(command)));
    let mut reports = runs.map(|(run, _)| (run.runner, TestReport::read(&run, &text)));
    let is_sane = |(runner, report): (Runner, TestReport)| {
        !runner.name().is_empty() && (!report.all_passed || report.failed.is_empty())
    };
    reports.all(is_sane)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        //
        #[test]
        fn x_08_any_bytes_are_read_as_a_command(bytes in any::<Vec<u8>>()) {
            prop_assert!(reads_any_shell(&bytes));
        }

        //
        #[test]
        fn x_08_pieces_of_commands_are_read(text in "(cd |/tmp|&& |\\| |tail -5|'|\"|\\$\\(|`|<<EOF\n|EOF|\n|;|>|2>&1|cargo test|\\\\|é| ){0,16}") {
            prop_assert!(reads_any_shell(text.as_bytes()), "{text:?}");
        }

        //
        #[test]
        fn x_08_any_bytes_are_read_as_what_tests_print(
            bytes in any::<Vec<u8>>(),
            text in "(test a::b \\.\\.\\. (ok|FAILED)\n|test result: |[0-9]{1,25} passed|; |FAILED|ok\\. |--- FAIL: T|=+|Tests: |\u{1b}\\[31m|✓|\n| ){0,16}",
        ) {
            prop_assert!(reads_any_test_report(&bytes));
            prop_assert!(reads_any_test_report(text.as_bytes()), "{text:?}");
        }
    }
}
