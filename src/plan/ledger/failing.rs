//! Which tests fail: what later runs say of earlier ones, kept so that it can be said of others still to come.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::latest::Latest;
use crate::plan::test_report::{PART, Reach, TestReport, TestRun};

/// The tests that fail, and what has passed since: as a function of the tests that failed before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failing {
    /// Those that fail, each with the folder in which it was run: of one name there may be several.
    #[serde(default, skip_serializing_if = "Latest::is_empty")]
    tests: Latest<(String, String), ()>,
    /// What has passed: a test, or all of a file or a package. No name is part of another.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    passed: BTreeSet<String>,
    /// Runners all of whose tests have passed in a folder and below: `cargo /p`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    cleared: BTreeSet<String>,
}

impl Failing {
    /// Whether nothing has failed or passed.
    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.passed.is_empty() && self.cleared.is_empty()
    }

    /// The tests that fail, the latest at the end.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.tests.iter().map(|((name, _), ())| name.as_str())
    }

    /// Adds what a run in `folder` has shown.
    pub(super) fn add(&mut self, run: TestRun, report: TestReport, folder: &str) {
        let TestReport { failed, passed, all_passed } = report;
        let mut later = Self::default();
        if all_passed && run.reach == Reach::Whole {
            later.cleared.insert(format!("{} {}", run.runner.name(), folder.trim_end_matches('/')));
        } else {
            later.passed.extend(passed);
        }
        for name in failed {
            later.tests.insert((name, folder.to_owned()), (), |(), ()| ());
        }
        later.tidy();
        self.merge(later);
    }

    /// Adds what `later` has shown: what passed there does not fail any more.
    pub(super) fn merge(&mut self, later: Self) {
        let is_over = |name: &str, folder: &str| {
            covers(&later.passed, name, &PARTS) || covers(&later.cleared, &run_of(name, folder), &["/"])
        };
        self.tests.retain(|(name, folder), ()| !is_over(name, folder));
        self.tests.merge(later.tests, |(), ()| ());
        self.passed.extend(later.passed);
        self.cleared.extend(later.cleared);
        self.tidy();
    }

    /// Leaves out what is part of something else.
    fn tidy(&mut self) {
        let passed = self.passed.clone();
        self.passed.retain(|name| !is_part(name, &passed, &PARTS));
        let cleared = self.cleared.clone();
        self.cleared.retain(|name| !is_part(name, &cleared, &["/"]));
    }
}

/// What stands between the parts of names of tests.
const PARTS: [&str; 3] = [PART, "::", "/"];

/// The runner of the test `name`, in `folder`.
fn run_of(name: &str, folder: &str) -> String {
    let runner = name.split(' ').next().unwrap_or_default();
    format!("{runner} {}", folder.trim_end_matches('/'))
}

/// Whether `names` has `name`, or what it is a part of.
fn covers(names: &BTreeSet<String>, name: &str, parts: &[&str]) -> bool {
    names.contains(name) || is_part(name, names, parts)
}

/// Whether `names` has what `name` is a part of.
fn is_part(name: &str, names: &BTreeSet<String>, parts: &[&str]) -> bool {
    let mut wholes = parts.iter().flat_map(|part| name.match_indices(part)).filter_map(|(at, _)| name.get(..at));
    wholes.any(|whole| names.contains(whole))
}
