//! Some lines of a transcript, in the order of the conversation.

use std::fs::File;
use std::io;

use super::cut::Page;
use crate::transcript::scan::Scan;
use crate::transcript::{Index, LineNo, read_line};

/// Calls `each` with every one of `lines`, in their order. The memory follows the longest of them.
///
/// # Errors
/// When reading fails.
pub(super) fn each_line(
    file: &File,
    index: &Index,
    lines: &[LineNo],
    mut each: impl FnMut(Page<'_>),
) -> io::Result<()> {
    let mut scan = Scan::default();
    let mut buffer = Vec::new();
    for &line in lines {
        let bytes = read_line(file, index, line, &mut buffer)?;
        scan.read(bytes);
        each(Page { line, bytes, scan: &scan });
    }
    Ok(())
}
