//! Changes that keep a file consistent: earlier copies of dropped entries go, and pointers to them are mended.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use super::pointers::mend_pointers;
use crate::apply::edit::replacements::mend_replacements;
use crate::apply::edit::rewrite::Rewrite;
use ctxc_transcript::{Flags, IdHash, Index};

/// Adds to `rewrite` what has to follow for the sake of the file: earlier copies of what goes, and what names it.
///
/// # Errors
/// When the source cannot be read.
pub(in crate::apply) fn mend_references(file: &File, index: &Index, rewrite: &mut Rewrite) -> io::Result<()> {
    drop_copies(index, rewrite);
    mend_replacements(file, index, rewrite)?;
    mend_pointers(file, index, rewrite)
}

/// Drops the earlier copies of every entry that goes: once the last of its uuid is gone, a copy would stand for it.
fn drop_copies(index: &Index, rewrite: &mut Rewrite) {
    let copies = || index.lines().filter(|&line| index.record(line).flags.any(Flags::SUPERSEDED));
    if copies().next().is_none() {
        return;
    }
    let gone: HashSet<IdHash> = rewrite.dropped.iter().map(|line| index.record(line).uuid).collect();
    for line in copies().filter(|&line| gone.contains(&index.record(line).uuid)) {
        rewrite.drop_line(line);
    }
}
