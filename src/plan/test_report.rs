//! What the output of test runners says of single tests: those of cargo, pytest, jest, vitest, bun and go.

use super::shell::{Command, Join, Script};

/// What a run of tests has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// The tests that failed, by their names.
    pub failed: Vec<String>,
    /// Tests, or files and packages of tests, that passed as a whole.
    pub passed: Vec<String>,
    /// Whether every test that the runner found has passed.
    pub all_passed: bool,
}

/// Programs that run tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Runner {
    /// `cargo test`, `cargo nextest`.
    Cargo,
    /// `pytest`.
    Pytest,
    /// `jest`, `vitest`, `bun test`, and what packages call `test`.
    Script,
    /// `go test`.
    Go,
}

/// A run of tests, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The program.
    pub runner: Runner,
    /// Which tests were asked for.
    pub reach: Reach,
    /// How they were: what stands behind the name of the program, but for how much is said meanwhile.
    pub scope: String,
}

/// Which tests are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All there are.
    Whole,
    /// Those of some files or packages.
    Part,
    /// Some, picked out by their names.
    Picked,
}

impl Runner {
    /// The name under which the tests of this runner are noted.
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

/// What stands between the parts of the name of a test: `js src/a.test.ts > adds > zero`.
pub(super) const PART: &str = " > ";

impl TestRun {
    /// The run that `script` asks for, and the place of the command that does; `None` where it asks for none.
    #[must_use]
    pub fn of(script: &Script) -> Option<(Self, usize)> {
        script.commands.iter().zip(0..).find_map(|(command, at)| Some((Self::of_command(command)?, at)))
    }

    /// The run that `output` is of, where `script` says no more than that it tests, as `make test` does.
    #[must_use]
    pub fn behind(script: &Script, output: &str) -> Option<(Self, usize)> {
        let tests = |command: &Command| {
            let words = || command.words.iter().skip(1).flat_map(|word| word.text.split([':', '-', '_', '.', '/']));
            !super::effects::is_look(command) && words().any(|word| ["test", "tests", "check", "ci"].contains(&word))
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
        let scope = scope(&command_words(script.commands.get(at)?));
        Some((Self { runner, reach: Reach::Picked, scope }, at))
    }

    fn of_command(command: &Command) -> Option<Self> {
        let words = command_words(command);
        let (runner, rest) = runner_of(command.program(), words.get(1..).unwrap_or_default())?;
        let is_option = |word: &&str| word.starts_with('-');
        let reach = match runner {
            Runner::Cargo if rest.iter().all(|word| WHOLE_CARGO.contains(word)) => Reach::Whole,
            // What stands alone may be a name as well as a package.
            Runner::Cargo => Reach::Picked,
            Runner::Go if rest.iter().any(|word| picks(word, &PICKS_GO)) => Reach::Picked,
            Runner::Go if rest.contains(&"./...") => Reach::Whole,
            Runner::Pytest | Runner::Script if rest.iter().any(|word| word.contains("::") || picks(word, &PICKS)) => {
                Reach::Picked
            }
            Runner::Pytest | Runner::Script if rest.iter().all(is_option) => Reach::Whole,
            Runner::Pytest | Runner::Script | Runner::Go => Reach::Part,
        };
        Some(Self { runner, reach, scope: scope(rest) })
    }
}

fn command_words(command: &Command) -> Vec<&str> {
    command.words.iter().map(|word| word.text.as_str()).collect()
}

/// The words of a run without those that say how much it tells.
fn scope(words: &[&str]) -> String {
    const TALK: [&str; 8] = ["-v", "-vv", "--verbose", "-q", "-qq", "--quiet", "--nocapture", "-s"];
    words.iter().filter(|word| !TALK.contains(word)).copied().collect::<Vec<_>>().join(" ")
}

/// Options of `cargo test` that leave no test out.
const WHOLE_CARGO: [&str; 11] = [
    "--all",
    "--workspace",
    "--all-features",
    "--all-targets",
    "--quiet",
    "-q",
    "--release",
    "--no-fail-fast",
    "--locked",
    "--offline",
    "--",
];

/// Options of `go test` that pick tests out.
const PICKS_GO: [&str; 4] = ["-run", "--run", "-short", "-skip"];
/// Options of the other runners that do.
const PICKS: [&str; 13] = [
    "-k",
    "-m",
    "-t",
    "--lf",
    "--last-failed",
    "--ff",
    "--sw",
    "--deselect",
    "--ignore",
    "--grep",
    "--changed",
    "--related",
    "--only",
];

fn picks(word: &str, options: &[&str]) -> bool {
    options.iter().any(|option| word.starts_with(option))
}

/// The runner that `program` with `words` is, and the words that are for it.
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

/// Whether `output` has the end of what the command at `at` prints: it goes through nothing that leaves it out.
#[must_use]
pub fn shows_its_end(script: &Script, at: usize, output: &str) -> bool {
    let commands = script.commands.iter().skip(at);
    let behind = commands.clone().zip(commands.skip(1)).take_while(|(command, _)| command.join == Join::Pipe);
    behind.into_iter().all(|(_, next)| match next.program() {
        "tail" | "tee" | "cat" => true,
        // Where it shows fewer lines than it would, there were no more.
        "head" => output.lines().count() < head_lines(next),
        _ => false,
    })
}

/// How many lines a call of `head` shows.
fn head_lines(head: &Command) -> usize {
    let number = head.words.iter().skip(1).find_map(|word| word.text.trim_start_matches(['-', 'n', '=']).parse().ok());
    number.unwrap_or(10)
}

impl TestReport {
    /// Reads the output of `run`.
    #[must_use]
    pub fn read(run: &TestRun, output: &str) -> Self {
        let TestRun { runner, reach, .. } = *run;
        let mut report = match runner {
            Runner::Cargo => cargo(output),
            Runner::Pytest => pytest(output),
            Runner::Script => script(output),
            Runner::Go => go(output),
        };
        if reach == Reach::Picked {
            // That what was picked out of a file has passed says nothing of the file.
            report.passed.retain(|name| !is_whole(runner, name));
        }
        report.failed = report.failed.iter().map(|name| format!("{} {name}", runner.name())).collect();
        report.passed = report.passed.iter().map(|name| format!("{} {name}", runner.name())).collect();
        report.all_passed &= report.failed.is_empty();
        report
    }

    fn fail(&mut self, name: impl Into<String>) {
        let name = name.into();
        if !name.is_empty() && !self.failed.contains(&name) {
            self.failed.push(name);
        }
    }
}

/// Whether `name` is that of a file or of a package, and not of a test.
fn is_whole(runner: Runner, name: &str) -> bool {
    match runner {
        Runner::Cargo => false,
        Runner::Pytest | Runner::Script => is_test_file(name),
        Runner::Go => !name.contains(PART) && name.contains(['/', '.']),
    }
}

fn cargo(output: &str) -> TestReport {
    let mut report = TestReport::default();
    let (mut has_passed, mut has_failed) = (false, false);
    let mut in_list = false;
    for line in output.lines() {
        let line = line.trim_end();
        if let Some((name, verdict)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            // `name - should panic`, `file - name (line 3)` of a doc test.
            let name = name.strip_suffix(" - should panic").unwrap_or(name);
            match verdict {
                "ok" => report.passed.push(name.to_owned()),
                "FAILED" => report.fail(name),
                _ => {}
            }
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            report.fail(name);
        } else if line == "failures:" {
            in_list = true;
            continue;
        } else if let (true, Some(name)) = (in_list, line.strip_prefix("    ")) {
            // The list of names at the end; above it stands what the tests printed.
            if !name.starts_with(' ') && !name.contains(' ') {
                report.fail(name);
            }
        } else if let Some((verdict, rest)) = nextest(line) {
            match verdict {
                "PASS" => report.passed.push(rest.to_owned()),
                "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" => report.fail(rest),
                _ => {}
            }
        }
        in_list &= line.is_empty() || line.starts_with("    ");
        has_passed |=
            line.starts_with("test result: ok.") || (line.contains(" tests run: ") && !line.contains("failed"));
        has_failed |= line.starts_with("test result: FAILED") || line.starts_with("error");
    }
    report.all_passed = has_passed && !has_failed;
    report
}

/// `PASS [   0.005s] (1/4) package::binary module::name`: the verdict and the name.
fn nextest(line: &str) -> Option<(&str, &str)> {
    let (verdict, rest) = line.trim_start().split_once(" [")?;
    let (time, rest) = rest.split_once(']')?;
    let is_time = time.trim().strip_suffix('s').is_some_and(|time| time.parse::<f64>().is_ok());
    let name = rest.trim_start_matches(|c: char| c == '(' || c == ')' || c == '/' || c == ' ' || c.is_ascii_digit());
    // Without the binary, as cargo names it.
    let name = name.split_once(' ').map_or(name, |(_, name)| name);
    is_time.then_some((verdict, name.trim()))
}

fn pytest(output: &str) -> TestReport {
    let mut report = TestReport::default();
    let name_of = |name: &str| name.replace("::", PART);
    let (mut has_passed, mut has_failed) = (false, false);
    for line in output.lines() {
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            let name = rest.split_once(" - ").map_or(rest, |(name, _)| name);
            // `ERROR collecting tests/a.py`, `ERROR: not found`, and whatever a program says.
            if name.contains(".py") && !name.contains(' ') {
                report.fail(name_of(name));
            }
        } else if let Some((name, verdict)) = line.split_once(' ').filter(|(name, _)| name.contains(".py")) {
            match verdict.split(' ').next().unwrap_or_default() {
                "PASSED" => report.passed.push(name_of(name)),
                "FAILED" | "ERROR" => report.fail(name_of(name)),
                // A file whose line ends with the share that is done has no line more.
                dots if !dots.is_empty() && dots.chars().all(|c| ".sxX".contains(c)) && verdict.ends_with("%]") => {
                    report.passed.push(name_of(name));
                }
                _ => {}
            }
        }
        let is_summary = line.starts_with('=') || line.contains(" in ");
        let counts = |what: &str| is_summary && line.contains(what);
        has_passed |= counts(" passed");
        has_failed |= counts(" failed") || counts(" error");
    }
    report.all_passed = has_passed && !has_failed;
    report
}

fn script(output: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut file = String::new();
    let (mut has_passed, mut has_failed) = (false, false);
    for line in output.lines() {
        let line = line.trim_end();
        let text = line.trim_start();
        let first = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        if let Some(rest) = text.strip_prefix("FAIL ").map(str::trim_start) {
            // Of vitest `FAIL  src/a.test.ts > adds > zero`, of jest the file.
            let name = rest.split(" [").next().unwrap_or_default().trim();
            let whole = first(name);
            if is_test_file(&whole) {
                if name.contains(PART) {
                    report.fail(name);
                } else {
                    report.fail(whole.clone());
                }
                file = whole;
            }
        } else if let Some(rest) = text.strip_prefix("PASS ").or_else(|| text.strip_prefix("✓ ")).map(str::trim_start)
        {
            if is_test_file(&first(rest)) {
                file = first(rest);
                report.passed.push(file.clone());
            } else {
                report.passed.push(named(&file, without_time(rest)));
            }
        } else if let Some(name) = text.strip_prefix("● ") {
            if name.contains(" › ") {
                report.fail(named(&file, &name.replace(" › ", PART)));
            }
        } else if let Some(name) = text.strip_prefix("(fail) ") {
            report.fail(named(&file, without_time(name)));
        } else if let Some(name) = text.strip_prefix("(pass) ") {
            report.passed.push(named(&file, without_time(name)));
        } else if let Some(name) = line.strip_suffix(':').filter(|name| is_test_file(name)) {
            name.clone_into(&mut file);
        }
        let mut words = text.split_whitespace();
        let is_summary = text.starts_with("Tests") || text.starts_with("Test Files");
        has_passed |= is_summary && text.contains(" passed");
        has_failed |= is_summary && text.contains(" failed");
        let bun = (words.next().map(str::parse::<u64>), words.next(), words.next());
        has_passed |= matches!(bun, (Some(Ok(1..)), Some("pass"), None));
        has_failed |= matches!(bun, (Some(Ok(1..)), Some("fail"), None));
    }
    // A file that fails is told of by its tests, where they are named.
    let failed = std::mem::take(&mut report.failed);
    let is_told = |file: &String| !file.contains(PART) && failed.iter().any(|name| name.starts_with(&named(file, "")));
    report.failed = failed.iter().filter(|name| !is_told(name)).cloned().collect();
    report.all_passed = has_passed && !has_failed;
    report
}

fn is_test_file(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    ["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "py"].contains(&ending) && !name.contains(' ')
}

fn named(file: &str, name: &str) -> String {
    if file.is_empty() { name.to_owned() } else { format!("{file}{PART}{name}") }
}

/// Without ` (5 ms)`, ` [1.00ms]` or ` 5ms` at its end.
fn without_time(name: &str) -> &str {
    let Some((rest, time)) = name.trim_end().trim_end_matches([')', ']']).rsplit_once([' ', '(', '[']) else {
        return name;
    };
    let is_time = time.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<f64>().is_ok() || time == "ms";
    if is_time { rest.trim_end_matches(|c: char| " ([".contains(c) || c.is_ascii_digit()) } else { name }
}

/// What stands for the tests of a package that does not build.
const BUILD: &str = "(does not build)";

fn go(output: &str) -> TestReport {
    let mut report = TestReport::default();
    let (mut failed, mut passed): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut has_passed, mut has_failed) = (false, false);
    for line in output.lines() {
        let text = line.trim();
        let name = |rest: &str| rest.split(' ').next().unwrap_or_default().replace('/', PART);
        if let Some(rest) = text.strip_prefix("--- FAIL: ") {
            failed.push(name(rest));
        } else if let Some(rest) = text.strip_prefix("--- PASS: ") {
            passed.push(name(rest));
        } else if let Some(rest) = line.strip_prefix("ok  \t").or_else(|| line.strip_prefix("FAIL\t")) {
            // The line of a package stands behind those of its tests.
            let package = rest.split(['\t', ' ']).next().unwrap_or_default();
            let is_ok = line.starts_with("ok");
            has_passed |= is_ok;
            has_failed |= !is_ok;
            if !is_ok && failed.is_empty() {
                // Nothing of it has run, or the names of its tests were cut off.
                let is_broken = rest.contains("[build failed]") || rest.contains("[setup failed]");
                report.fail(if is_broken { named(package, BUILD) } else { package.to_owned() });
            }
            go_package(&mut report, package, &std::mem::take(&mut failed), std::mem::take(&mut passed));
            if is_ok {
                report.passed.push(named(package, BUILD));
            }
            if is_ok && !rest.contains("[no tests to run]") {
                report.passed.push(package.to_owned());
            }
        }
        has_failed |= line == "FAIL";
    }
    // What is left was cut off before the line of its package.
    go_package(&mut report, "", &failed, passed);
    report.all_passed = has_passed && !has_failed;
    report
}

/// Takes the tests of one package. A test that fails by one of its parts is named by the part alone.
fn go_package(report: &mut TestReport, package: &str, failed: &[String], passed: Vec<String>) {
    let has_part = |name: &String| failed.iter().any(|other| other.starts_with(&format!("{name}{PART}")));
    for name in failed.iter().filter(|name| !has_part(name)) {
        report.fail(named(package, name));
    }
    for name in passed {
        report.passed.push(named(package, &name));
        // An earlier failure may have been cut off before the name of its package.
        report.passed.push(name);
    }
    report.passed.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str, output: &str) -> (Vec<String>, Vec<String>, bool) {
        let (run, _) = TestRun::of(&Script::read(command)).expect(command);
        let TestReport { failed, passed, all_passed } = TestReport::read(&run, output);
        (failed, passed, all_passed)
    }

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

    // F-13
    #[test]
    fn f_13_failing_tests_are_read_off_what_runners_print() {
        type Case<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str], bool);
        let cases: [Case<'_>; 13] = [
            (
                "cargo test",
                "test a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\nfailures:\n    odd output here\n\nfailures:\n    a::c\n\ntest result: FAILED. 1 passed; 1 failed;\n\nerror: test failed",
                &["cargo a::c"],
                &["cargo a::b"],
                false,
            ),
            (
                "cargo test | tail -5",
                "failures:\n    a::c\n    a::d\n\ntest result: FAILED. 1 passed",
                &["cargo a::c", "cargo a::d"],
                &[],
                false,
            ),
            ("cargo test", "test result: ok. 12 passed; 0 failed", &[], &[], true),
            (
                "cargo nextest run",
                "        PASS [   0.005s] ctxc plan::a\n        FAIL [   0.010s] (2/2) ctxc::it plan::b\n     Summary [   0.1s] 2 tests run: 1 passed, 1 failed",
                &["cargo plan::b"],
                &["cargo plan::a"],
                false,
            ),
            (
                "pytest",
                "tests/test_a.py .F  [ 50%]\ntests/test_b.py ..  [100%]\nFAILED tests/test_a.py::test_x[1] - assert 1 == 2\nERROR: odd\n=== 1 failed, 3 passed in 0.1s ===",
                &["pytest tests/test_a.py > test_x[1]"],
                &["pytest tests/test_b.py"],
                false,
            ),
            (
                "pytest -v -k x",
                "tests/test_a.py::test_x PASSED  [ 50%]\n=== 1 passed in 0.1s ===",
                &[],
                &["pytest tests/test_a.py > test_x"],
                true,
            ),
            (
                "npx jest",
                "PASS src/b.test.ts\nFAIL src/a.test.ts\n  adds\n    ✓ one (2 ms)\n  ● adds › zero\n\nTests:       1 failed, 2 passed, 3 total",
                &["js src/a.test.ts > adds > zero"],
                &["js src/b.test.ts", "js src/a.test.ts > one"],
                false,
            ),
            (
                "npx vitest run",
                " ✓ src/b.test.ts (5 tests) 10ms\n FAIL  src/a.test.ts > adds > zero\n Test Files  1 failed | 1 passed (2)",
                &["js src/a.test.ts > adds > zero"],
                &["js src/b.test.ts"],
                false,
            ),
            (
                "npx vitest run",
                " FAIL  src/a.test.ts [ src/a.test.ts ]\nError: no such module",
                &["js src/a.test.ts"],
                &[],
                false,
            ),
            (
                "bun test",
                "src/a.test.ts:\n(pass) adds > one [0.10ms]\n(fail) adds > zero [1.00ms]\n\n 1 pass\n 1 fail",
                &["js src/a.test.ts > adds > zero"],
                &["js src/a.test.ts > adds > one"],
                false,
            ),
            (
                "go test -v ./...",
                "=== RUN   TestX\n    --- FAIL: TestX/sub (0.00s)\n--- FAIL: TestX (0.00s)\n--- PASS: TestY (0.00s)\nFAIL\nFAIL\tp/a\t0.5s\nok  \tp/b\t0.1s\nFAIL",
                &["go p/a > TestX > sub"],
                &["go p/a > TestY", "go TestY", "go p/b > (does not build)", "go p/b"],
                false,
            ),
            ("go test ./a -run TestX", "ok  \tp/a\t0.5s", &[], &["go p/a > (does not build)"], true),
            ("go test ./a", "FAIL\tp/a [build failed]\nFAIL", &["go p/a > (does not build)"], &[], false),
        ];
        for (command, output, failed, passed, all_passed) in cases {
            let (found_failed, found_passed, found_all) = read(command, output);
            assert_eq!(found_failed, failed, "{command}: {output}");
            assert_eq!(found_passed, passed, "{command}: {output}");
            assert_eq!(found_all, all_passed, "{command}: {output}");
        }
    }
}
