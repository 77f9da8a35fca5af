//! Some lines of a transcript, each read and scanned.

use std::fs::File;
use std::io;

use crate::apply::read::page::ScannedLine;
use ctxc_transcript::{Index, LineNo, LineSet, read_line, visit_lines};

#[cfg(test)]
pub(in crate::apply) use tests::file_of;

/// Calls `each` with every one of `lines`, in their order. The memory follows the longest of them.
///
/// # Errors
/// When reading fails.
pub(in crate::apply) fn each_line(
    file: &File,
    index: &Index,
    lines: &[LineNo],
    mut each: impl FnMut(ScannedLine<'_>),
) -> io::Result<()> {
    let mut scan = index.new_scan();
    let mut buffer = Vec::new();
    for &line in lines {
        let bytes = read_line(file, index, line, &mut buffer)?;
        scan.read(bytes);
        each(ScannedLine { line, bytes, scan: &scan });
    }
    Ok(())
}

/// Calls `each` with every one of `lines`, in the order of the file.
///
/// # Errors
/// When reading fails.
pub(in crate::apply) fn each_scanned_line(
    file: &File,
    index: &Index,
    lines: &LineSet,
    mut each: impl FnMut(ScannedLine<'_>),
) -> io::Result<()> {
    let mut scan = index.new_scan();
    visit_lines(file, index, lines, |line, bytes| {
        scan.read(bytes);
        each(ScannedLine { line, bytes, scan: &scan });
        io::Result::Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use ctxc_transcript::Chain;

    /// A file of `text`, its index, and the lines of its live chain.
    pub(in crate::apply) fn file_of(text: &str) -> (File, Index, Vec<LineNo>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let index = Index::build(io::Cursor::new(text.as_bytes())).unwrap();
        let lines = Chain::find(&index).lines;
        (file, index, lines)
    }

    #[test]
    fn lines_are_read_in_the_order_that_is_asked_for() {
        let (file, index, _) = file_of("{\"a\":1}\n\n{\"b\":2}\n");
        let mut read = Vec::new();
        each_line(&file, &index, &[LineNo(2), LineNo(0)], |page| read.push((page.line.0, page.bytes.to_vec())))
            .unwrap();
        assert_eq!(read, [(2, b"{\"b\":2}\n".to_vec()), (0, b"{\"a\":1}\n".to_vec())]);
    }
}
