//! The ledger: what messages did, computed from their entries and never left to a summariser (F-13).

use serde::{Deserialize, Serialize};

use super::Latest;

/// What messages did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Files, by their paths from the root, the one touched last at the end.
    #[serde(default, skip_serializing_if = "Latest::is_empty")]
    files: Latest<String, Action>,
}

/// What was done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It was read.
    Read,
    /// It was not there, and was written.
    Created,
    /// It was changed.
    Edited,
    /// It was deleted, or moved away.
    Deleted,
}

impl Ledger {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds what `later` messages did: of one thing the later state stands.
    pub fn merge(&mut self, later: Self) {
        self.files.merge(later.files, |_, later| later);
    }

    /// Notes what was done with the file at `path`, which starts at the root where that is known.
    pub fn touch(&mut self, path: impl Into<String>, action: Action) {
        self.files.insert(path.into(), action, |_, later| later);
    }

    /// The ledger as people and models read it.
    #[must_use]
    pub fn told(&self) -> String {
        let lines = self.files.iter().map(|(path, action)| format!("- {action:?}: {path}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
