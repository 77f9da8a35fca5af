//! The long parameters of calls whose results were cut, shortened too (P-03, P-11).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use super::cut::{CutLabel, cut_input};
use crate::apply::edit::transcript_changes::TranscriptChanges;
use crate::apply::read::lines::each_scanned_line;
use crate::apply::read::placeholder::ArchiveRef;
use crate::plan::BlockPlace;
use ctxc_store::Cut;
use ctxc_transcript::{Index, LineNo, LineSet};

/// The name of this way to cut.
pub(in crate::apply) const INPUTS: &str = "inputs";

/// Shortens the long strings among the parameters of `calls`, which are given by their places with their handles.
/// `kept` returns the text that is kept of a string in a line. Returns what was cut.
///
/// # Errors
/// When the source cannot be read.
pub fn cut_inputs(
    file: &File,
    index: &Index,
    calls: &BTreeMap<BlockPlace, String>,
    archive_ref: &ArchiveRef,
    kept: &dyn Fn(LineNo, &str) -> String,
    changes: &mut TranscriptChanges,
) -> io::Result<Vec<Cut>> {
    let lines: LineSet = calls.keys().map(|place| place.line).collect();
    let mut cuts = Vec::new();
    each_scanned_line(file, index, &lines, |page| {
        let line = page.line;
        let command = archive_ref.show_command(page.digest());
        let of_line = BlockPlace { line, block: 0 }..=BlockPlace { line, block: u32::MAX };
        for (place, name) in calls.range(of_line) {
            let label = CutLabel { name, rule: INPUTS };
            cuts.extend(cut_input(page, place.block as usize, (&command, &|text| kept(line, text)), label, changes));
        }
    })?;
    Ok(cuts)
}
