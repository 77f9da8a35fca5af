//! Repairs, as part of the session that other operations are rendered from: lines that are left out were never there, and links
//! are as the repair has them (J-03).

use crate::apply::edit::rewrite::Rewrite;
use crate::apply::follow::relink::relinks;
use crate::version::{Active, Edit, Layout};
use ctxc_transcript::{Chain, Index};

/// Carries the repairs among `active` out on `index`, and notes the new links in `rewrite`.
pub(super) fn apply_repairs(index: &mut Index, layout: &Layout, active: &[Active<'_>], rewrite: &mut Rewrite) {
    let mut repair = Rewrite::default();
    for it in active.iter().filter(|it| it.operation.repairs) {
        match it.edit {
            Edit::Drop(line) => {
                if let Some(line) = layout.place(line) {
                    repair.dropped.insert(line);
                }
            }
            Edit::Relink { line, parent, .. } => {
                if let (Some(line), Some(parent)) = (layout.place(line), layout.place(parent)) {
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
    index.heal_as(&Chain::default());
    index.revive_copies(&repair.dropped);
    for (line, parent) in relinks(index, &repair) {
        index.relink(line, parent);
        rewrite.parents.insert(line, parent);
    }
    for line in repair.dropped.iter() {
        index.drop_line(line);
    }
}
