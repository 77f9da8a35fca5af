//! Single lines of an indexed file, in any order.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::{Index, LineNo};

/// Reads `line` of the file that `index` was built from into `buffer`, its end included.
///
/// # Errors
/// When reading fails, or the file is no longer as long as it was.
pub fn read_line<'b>(mut file: &File, index: &Index, line: LineNo, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
    file.seek(SeekFrom::Start(index.line_offset(line)))?;
    buffer.resize(index.record(line).len as usize, 0);
    file.read_exact(buffer)?;
    Ok(buffer)
}
