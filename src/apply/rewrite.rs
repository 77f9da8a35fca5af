//! What is to change in a transcript, line by line.

use std::collections::BTreeMap;

use super::NewSession;
use crate::transcript::edit::Splice;
use crate::transcript::{LineNo, LineSet};

/// What is to change in a transcript. Every line that it does not name is written byte for byte.
#[derive(Debug, Default)]
pub struct Rewrite {
    /// Edits inside lines.
    pub edits: BTreeMap<LineNo, Vec<Splice>>,
    /// Lines that go.
    pub dropped: LineSet,
    /// Lines that come behind the last one, without their ends.
    pub appended: Vec<String>,
    /// The session that the result is, when it is a new one.
    pub session: Option<NewSession>,
}

impl Rewrite {
    /// Whether the result would be the source, byte for byte.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.edits.is_empty() && self.dropped.is_empty() && self.appended.is_empty() && self.session.is_none()
    }

    /// Adds splices to those of `line`.
    pub fn edit(&mut self, line: LineNo, splices: impl IntoIterator<Item = Splice>) {
        self.edits.entry(line).or_default().extend(splices);
    }

    /// Takes `line` out, with any edit of it.
    pub fn drop_line(&mut self, line: LineNo) {
        self.edits.remove(&line);
        self.dropped.insert(line);
    }
}
