//! Detection of test runs in shell commands: the runner, and the tests that are run.

use super::effects::is_look;
use super::shell::{Command, Join, Script, Word};

/// Programs that run tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Runner {
    /// `cargo test`, `cargo nextest`.
    Cargo,
    /// `pytest`.
    Pytest,
    /// `jest`, `vitest`, `bun test`, and `test` scripts of packages.
    Script,
    /// `go test`.
    Go,
}

/// A test run, as it was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The runner.
    pub runner: Runner,
    /// The extent of the run.
    pub reach: Reach,
    /// The words after the name of the program, without options for verbosity.
    pub scope: String,
}

/// The extent of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All tests.
    Whole,
    /// The tests of some files or packages.
    Part,
    /// Some tests, selected by name.
    Picked,
}

impl Runner {
    /// The prefix of the names of this runner's tests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Pytest => "pytest",
            Self::Script => "js",
            Self::Go => "go",
        }
    }
}

/// Whether `script` tests or builds, so that its outcome shows whether the work is sound.
#[must_use]
pub fn checks(script: &Script) -> bool {
    /// Programs that only test or build, and programs that do so if one of their first arguments says so.
    const CHECKERS: [&str; 9] = ["pytest", "jest", "vitest", "tsc", "make", "ninja", "ctest", "eslint", "mypy"];
    const RUNNERS: [&str; 24] = [
        "cargo", "go", "npm", "npx", "pnpm", "yarn", "bun", "deno", "mise", "just", "task", "gradle", "gradlew", "mvn",
        "mvnw", "bazel", "dotnet", "swift", "rake", "mix", "cmake", "uv", "python", "python3",
    ];
    let is_check = |command: &Command| {
        let program = command.words.first().map(|word| word.text.rsplit('/').next().unwrap_or_default());
        let is_own = |program: &str| program != "test" && name_parts(program).any(|part| CHECKS.contains(&part));
        let installs = ["install", "add", "remove", "sync", "i", "download", "pip"];
        let says_so = || {
            let is_install = |word: &Word| installs.contains(&word.text.as_str());
            !command.words.iter().skip(1).take(2).any(is_install)
                && command
                    .words
                    .iter()
                    .skip(1)
                    .take(3)
                    .flat_map(|word| name_parts(&word.text))
                    .any(|part| CHECKS.contains(&part) || CHECKERS.contains(&part))
        };
        program.is_some_and(|it| CHECKERS.contains(&it) || is_own(it) || RUNNERS.contains(&it) && says_so())
    };
    script.commands.iter().any(|command| !is_look(command) && is_check(command))
}

/// Words in the names of commands and scripts that test or build.
const CHECKS: [&str; 9] = ["test", "tests", "check", "ci", "build", "lint", "clippy", "typecheck", "vet"];

/// The words of a name such as `test:unit` or `run_tests.sh`.
fn name_parts(name: &str) -> impl Iterator<Item = &str> {
    name.split([':', '-', '_', '.', '/'])
}

impl TestRun {
    /// The test run in `script` and the index of its command; `None` if there is none.
    #[must_use]
    pub fn of(script: &Script) -> Option<(Self, usize)> {
        script.commands.iter().zip(0..).find_map(|(command, at)| Some((Self::of_command(command)?, at)))
    }

    /// The test run recognized by its `output`, for a `script` such as `make test` that does not name the runner.
    #[must_use]
    pub fn behind(script: &Script, output: &str) -> Option<(Self, usize)> {
        let tests = |command: &Command| {
            let words = || command.words.iter().skip(1).flat_map(|word| name_parts(&word.text));
            !is_look(command) && words().any(|word| ["test", "tests", "check", "ci"].contains(&word))
        };
        let at = script.commands.iter().position(tests)?;
        let has = |marks: &[&str]| marks.iter().any(|mark| output.contains(mark));
        let runner = match () {
            () if has(&["test result: "]) => Runner::Cargo,
            () if has(&["--- FAIL: ", "--- PASS: ", "\nok  \t", "\nFAIL\t"]) => Runner::Go,
            () if has(&[" passed in ", " failed in "]) => Runner::Pytest,
            () if has(&["Test Files  ", "Tests:  ", "(fail) "]) => Runner::Script,
            () => return None,
        };
        let scope = scope_of(&command_words(script.commands.get(at)?));
        Some((Self { runner, reach: Reach::Picked, scope }, at))
    }

    fn of_command(command: &Command) -> Option<Self> {
        let words = command_words(command);
        let (runner, rest) = runner_of(command.program(), words.get(1..).unwrap_or_default())?;
        let is_option = |word: &&str| word.starts_with('-');
        let reach = match runner {
            Runner::Cargo if rest.iter().all(|word| WHOLE_CARGO.contains(word)) => Reach::Whole,
            // A lone word may be the name of a test or of a package.
            Runner::Cargo => Reach::Picked,
            Runner::Go if rest.iter().any(|word| picks(word, &PICKS_GO)) => Reach::Picked,
            Runner::Go if rest.contains(&"./...") => Reach::Whole,
            Runner::Pytest | Runner::Script if rest.iter().any(|word| word.contains("::") || picks(word, &PICKS)) => {
                Reach::Picked
            }
            Runner::Pytest | Runner::Script if rest.iter().all(is_option) => Reach::Whole,
            Runner::Pytest | Runner::Script | Runner::Go => Reach::Part,
        };
        Some(Self { runner, reach, scope: scope_of(rest) })
    }
}

fn command_words(command: &Command) -> Vec<&str> {
    command.words.iter().map(|word| word.text.as_str()).collect()
}

/// The words of a run without options for verbosity.
fn scope_of(words: &[&str]) -> String {
    const TALK: [&str; 8] = ["-v", "-vv", "--verbose", "-q", "-qq", "--quiet", "--nocapture", "-s"];
    words.iter().filter(|word| !TALK.contains(word)).copied().collect::<Vec<_>>().join(" ")
}

/// Options of `cargo test` that exclude no test.
const WHOLE_CARGO: [&str; 11] = [
    "--all", "--workspace", "--all-features", "--all-targets", "--quiet", "-q", "--release", "--no-fail-fast",
    "--locked", "--offline", "--",
];

/// Options of `go test` that select tests.
const PICKS_GO: [&str; 4] = ["-run", "--run", "-short", "-skip"];
/// Options of the other runners that select tests.
const PICKS: [&str; 13] = [
    "-k", "-m", "-t", "--lf", "--last-failed", "--ff", "--sw", "--deselect", "--ignore", "--grep", "--changed",
    "--related", "--only",
];

fn picks(word: &str, options: &[&str]) -> bool {
    options.iter().any(|option| word.starts_with(option))
}

/// The runner that `program` with the arguments `words` starts, and the arguments for it.
fn runner_of<'w>(program: &str, words: &'w [&'w str]) -> Option<(Runner, &'w [&'w str])> {
    match (program, words) {
        ("cargo", ["test" | "t", rest @ ..] | ["nextest", "run", rest @ ..]) => Some((Runner::Cargo, rest)),
        ("go", ["test", rest @ ..]) => Some((Runner::Go, rest)),
        ("pytest" | "py.test", rest) => Some((Runner::Pytest, rest)),
        ("jest", rest)
        | ("vitest", ["run", rest @ ..] | rest)
        | ("bun" | "npm" | "pnpm" | "yarn" | "deno", ["test", rest @ ..]) => Some((Runner::Script, rest)),
        ("bun" | "npm" | "pnpm" | "yarn", ["run", script, rest @ ..]) if script.starts_with("test") => {
            Some((Runner::Script, rest))
        }
        ("python" | "python3", ["-m", program, rest @ ..])
        | ("uv" | "poetry" | "pdm" | "hatch", ["run", program, rest @ ..])
        | ("npx" | "bunx" | "pnpm" | "yarn", [program, rest @ ..]) => runner_of(program, rest),
        _ => None,
    }
}

/// Whether `output` includes the end of the output of the command at `at`: no filter after it drops that.
#[must_use]
pub fn shows_its_end(script: &Script, at: usize, output: &str) -> bool {
    let commands = script.commands.iter().skip(at);
    let behind = commands.clone().zip(commands.skip(1)).take_while(|(command, _)| command.join == Join::Pipe);
    behind.into_iter().all(|(_, next)| match next.program() {
        "tail" | "tee" | "cat" => true,
        // With fewer lines than its limit, `head` dropped nothing.
        "head" => output.lines().count() < head_lines(next),
        _ => false,
    })
}

/// The number of lines that a call of `head` shows.
fn head_lines(head: &Command) -> usize {
    let number = head.words.iter().skip(1).find_map(|word| word.text.trim_start_matches(['-', 'n', '=']).parse().ok());
    number.unwrap_or(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_tests_are_known_by_their_commands() {
        let cases = [
            ("cargo test 2>&1 | tail -5", Some((Runner::Cargo, Reach::Whole))),
            ("cd a && cargo test --lib x::y", Some((Runner::Cargo, Reach::Picked))),
            ("cargo nextest run --workspace", Some((Runner::Cargo, Reach::Whole))),
            ("cargo build", None),
            ("uv run pytest tests/a.py -q", Some((Runner::Pytest, Reach::Part))),
            ("python -m pytest", Some((Runner::Pytest, Reach::Whole))),
            ("pytest -k one", Some((Runner::Pytest, Reach::Picked))),
            ("npx vitest run src/a.test.ts", Some((Runner::Script, Reach::Part))),
            ("npm test", Some((Runner::Script, Reach::Whole))),
            ("pnpm run test:unit -- -t adds", Some((Runner::Script, Reach::Picked))),
            ("go test ./...", Some((Runner::Go, Reach::Whole))),
            ("go test ./a -run TestX -v", Some((Runner::Go, Reach::Picked))),
            ("grep -rn 'cargo test' .", None),
        ];
        for (command, expected) in cases {
            let run = TestRun::of(&Script::read(command));
            assert_eq!(run.map(|(run, _)| (run.runner, run.reach)), expected, "{command}");
        }
    }

    #[test]
    fn runs_behind_other_names_are_known_by_what_they_print() {
        let behind =
            |command: &str, output: &str| TestRun::behind(&Script::read(command), output).map(|(run, _)| run.runner);
        assert_eq!(behind("make test", "test result: ok."), Some(Runner::Cargo));
        assert_eq!(behind("mise run test:unit", "\nok  \ta/b\t0.1s"), Some(Runner::Go));
        assert_eq!(behind("make test", "done"), None);
        assert_eq!(behind("grep test log", "test result: ok."), None);
    }

    #[test]
    fn the_end_of_what_is_printed_may_be_left_out() {
        let cases = [
            ("go test ./...", true),
            ("cd a && go test ./... 2>&1 | tail -5", true),
            ("go test ./... | tee log | head -3", false),
            ("go test ./... | head -n 4", true),
            ("go test ./... | head", true),
            ("go test ./... | grep ok", false),
            ("go test ./...; ls | head -3", true),
        ];
        for (command, shows) in cases {
            let script = Script::read(command);
            let (_, at) = TestRun::of(&script).unwrap();
            assert_eq!(shows_its_end(&script, at, "one\ntwo\nthree"), shows, "{command}");
        }
    }

    // K-11
    #[test]
    fn k_11_what_tests_or_builds_is_told_from_what_only_names_tests() {
        for (command, expected) in [
            ("cargo test a::b", true),
            ("npm run test:unit", true),
            ("make", true),
            ("./scripts/run-tests.sh", true),
            ("python3 -m pytest -q", true),
            ("go vet ./...", true),
            ("git add tests/a.rs && git commit -m 'test it'", false),
            ("rm -rf build", false),
            ("test -f Cargo.toml", false),
            ("cp a.txt build/test", false),
        ] {
            assert_eq!(checks(&Script::read(command)), expected, "{command}");
        }
    }
}
