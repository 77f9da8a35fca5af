//! Repairs, as part of the session that other operations are rendered from: lines that are left out were never there, and links
//! are as the repair has them (J-03).

use crate::apply::edit::transcript_changes::TranscriptChanges;
use crate::apply::follow::relink::find_relinks;
use crate::version::{ActiveEdit, Edit, LineLayout};
use ctxc_transcript::{Chain, Index};

/// Carries the repairs among `active` out on `index`, and notes the new links in `changes`.
pub(super) fn apply_repairs(
    index: &mut Index,
    layout: &LineLayout,
    active: &[ActiveEdit<'_>],
    changes: &mut TranscriptChanges,
) {
    let mut repair = TranscriptChanges::default();
    for it in active.iter().filter(|it| it.operation.repairs) {
        match it.edit {
            Edit::Drop(line) => {
                if let Some(line) = layout.line_of(line) {
                    repair.dropped.insert(line);
                }
            }
            Edit::Relink { line, parent, .. } => {
                if let (Some(line), Some(parent)) = (layout.line_of(line), layout.line_of(parent)) {
                    repair.parents.insert(line, Some(parent));
                }
            }
            Edit::Splice { .. } | Edit::Insert { .. } => {}
        }
    }
    if repair.is_nothing() {
        return;
    }
    // The parents that clients find themselves show in the repaired session.
    index.heal_parents_as(&Chain::default());
    index.restore_superseded(&repair.dropped);
    for (line, parent) in find_relinks(index, &repair) {
        index.set_parent(line, parent);
        changes.parents.insert(line, parent);
    }
    for line in repair.dropped.iter() {
        index.drop_line(line);
    }
}
