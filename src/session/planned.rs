//! A planned operation, made of the changes that a verb plans on the session as it is shown.

use std::collections::BTreeMap;

use super::reading::SessionReading;
use ctxc_core::apply::{Savings, ThinkingReach, TranscriptChanges, drop_derived_changes, own_edits};
use ctxc_core::version::{LineAddress, OperationEdits, ThinkingPolicy};
use ctxc_store::{Cut, Record};
use ctxc_transcript::LineNo;

/// A planned operation: its edits, and what the plan knows of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedOperation {
    /// The edits, on the lines of the session.
    pub(crate) edits: OperationEdits,
    /// The savings measured in the file, if its lines are those of the session.
    pub(super) measured: Savings,
    /// The `chars4` tokens that lines without an edit are expected to lose.
    pub(super) expected: BTreeMap<LineAddress, i64>,
    /// The items that are cut or given back.
    pub(crate) cuts: Vec<Cut>,
    /// Records for the archive, besides the lines that go.
    pub(crate) records: Vec<Record>,
}

impl From<OperationEdits> for PlannedOperation {
    fn from(edits: OperationEdits) -> Self {
        Self { edits, ..Self::default() }
    }
}

impl PlannedOperation {
    /// The operation that makes the changes of `changes` to the session as `reading` has it.
    pub(super) fn of(
        mut changes: TranscriptChanges,
        reach: ThinkingReach,
        thinking: ThinkingPolicy,
        reading: &SessionReading,
    ) -> Self {
        let lines = &reading.past.lines;
        drop_derived_changes(&mut changes, lines);
        let own = own_edits(&reading.index, &changes, lines);
        let edits =
            if reading.past.pending.is_empty() { own } else { [reading.past.pending.as_slice(), &own].concat() };
        let removes_all_thinking = reach == ThinkingReach::Everywhere;
        let edits = OperationEdits { removes_all_thinking, thinking, ..reading.operation_with(edits) };
        let without_edit = |line: LineNo| !changes.edits.contains_key(&line) && !changes.dropped.contains(line);
        let expected = changes.saved.iter().filter(|(line, _)| without_edit(**line));
        let expected = expected.filter_map(|(line, saved)| Some((lines.get(*line).0?, *saved))).collect();
        let TranscriptChanges { saved, cuts, records, .. } = changes;
        let cuts = cuts.into_values().flatten().filter(|cut| !cut.name.is_empty()).collect();
        let measured = if reading.is_composed() { Savings::default() } else { saved };
        Self { edits, measured, expected, cuts, records }
    }
}
