//! Which tests fail: what later runs say of earlier ones, kept so that it can be said of others still to come.

use std::collections::BTreeSet;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::latest::Latest;
use crate::plan::test_report::{PART, TestReport};
use crate::plan::test_run::{Reach, TestRun};

/// The tests that fail, and what has passed since: as a function of the tests that failed before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failing {
    /// Those that fail, each with the folder in which it was run, and how: of one name there may be several.
    #[serde(default, skip_serializing_if = "Latest::is_empty")]
    tests: Latest<(String, String, String), ()>,
    /// What has passed: a test, or all of a file or a package. No name is part of another.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    passed: BTreeSet<String>,
    /// Runners all of whose tests have passed in a folder and below: `cargo /p`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    cleared: BTreeSet<String>,
    /// Runs all of whose tests have passed, where they were not all there are: the runner, the folder, how it was asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    rerun: BTreeSet<(String, String, String)>,
}

impl Failing {
    /// Whether nothing has failed or passed.
    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.passed.is_empty() && self.cleared.is_empty() && self.rerun.is_empty()
    }

    /// The tests that fail, the latest at the end.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.tests.iter().map(|((name, ..), ())| name.as_str())
    }

    /// Adds what a run in `folder` has shown.
    pub(super) fn add(&mut self, run: &TestRun, report: TestReport, folder: &str) {
        let TestReport { failed, passed, all_passed } = report;
        let mut later = Self::default();
        if all_passed && run.reach == Reach::Whole {
            later.cleared.insert(format!("{} {}", run.runner.name(), place(folder)));
        } else {
            later.passed.extend(passed);
            let run = || (run.runner.name().to_owned(), place(folder).to_owned(), run.scope.clone());
            later.rerun.extend(all_passed.then(run));
        }
        for name in failed {
            later.tests.insert((name, place(folder).to_owned(), run.scope.clone()), (), |(), ()| ());
        }
        self.merge(later);
    }

    /// Adds what `later` has shown: what passed there does not fail any more.
    pub(super) fn merge(&mut self, later: Self) {
        let is_over = |(name, folder, scope): &(String, String, String)| {
            let runner = runner_of(name);
            covers(&later.passed, name, &PARTS)
                || covers(&later.cleared, &format!("{runner} {folder}"), &["/"])
                || later.rerun.contains(&(runner.to_owned(), folder.clone(), scope.clone()))
        };
        self.tests.retain(|test, ()| !is_over(test));
        self.tests.merge(later.tests, |(), ()| ());
        later.passed.into_iter().for_each(|name| insert(&mut self.passed, name, &PARTS));
        if !later.cleared.is_empty() {
            self.rerun.retain(|run| !clears(&later.cleared, run));
        }
        later.cleared.into_iter().for_each(|place| insert(&mut self.cleared, place, &["/"]));
        self.rerun.extend(later.rerun.into_iter().filter(|run| !clears(&self.cleared, run)));
    }
}

/// Whether all tests of the runner have passed where `run` was made, or above.
fn clears(cleared: &BTreeSet<String>, (runner, folder, _): &(String, String, String)) -> bool {
    covers(cleared, &format!("{runner} {folder}"), &["/"])
}

/// Adds `name` to `names`, of which none is part of another, unless it is part of one; those that are parts of it go.
fn insert(names: &mut BTreeSet<String>, name: String, parts: &[&str]) {
    if covers(names, &name, parts) {
        return;
    }
    let longer = names.range::<str, _>((Bound::Excluded(name.as_str()), Bound::Unbounded));
    let longer = longer.map_while(|other| Some((other, other.strip_prefix(name.as_str())?)));
    let own = longer.filter(|(_, rest)| parts.iter().any(|part| rest.starts_with(part)));
    for other in own.map(|(other, _)| other.clone()).collect::<Vec<_>>() {
        names.remove(&other);
    }
    names.insert(name);
}

/// What stands between the parts of names of tests.
const PARTS: [&str; 3] = [PART, "::", "/"];

/// The runner of the test `name`.
fn runner_of(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// The folder without a slash at its end.
fn place(folder: &str) -> &str {
    folder.trim_end_matches('/')
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn f_06_no_name_that_has_passed_is_part_of_another(names in prop::collection::vec("[ab](/[ab]|::[ab]|-[ab]){0,3}", 0..12)) {
            let mut inserted = BTreeSet::new();
            for name in &names {
                insert(&mut inserted, name.clone(), &PARTS);
            }
            let all: BTreeSet<String> = names.into_iter().collect();
            let expected: BTreeSet<String> = all.iter().filter(|name| !is_part(name, &all, &PARTS)).cloned().collect();
            prop_assert_eq!(inserted, expected);
        }
    }
}
