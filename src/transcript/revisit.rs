//! Reading some lines of a file that is indexed, and going past the others.

use std::io::{self, BufRead, BufReader, Read, Seek};

use super::{Index, LineNo, LineSet};

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

/// Calls `each` with every line of `lines` and its bytes, in file order. What lies between them is not read where
/// it is longer than the buffer. The memory follows the longest of the lines.
///
/// # Errors
/// When reading fails, also where the file is shorter by now than when it was indexed, or when `each` does.
pub fn revisit<E: From<io::Error>>(
    file: impl Read + Seek,
    index: &Index,
    lines: &LineSet,
    mut each: impl FnMut(LineNo, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = BufReader::with_capacity(CHUNK, file);
    reader.rewind()?;
    let mut split = Vec::new();
    let mut n_skipped = 0;
    for line in index.lines() {
        let len = index.record(line).len as usize;
        if !lines.contains(line) {
            n_skipped += i64::from(index.record(line).len);
            continue;
        }
        if n_skipped > 0 {
            reader.seek_relative(n_skipped)?;
            n_skipped = 0;
        }
        if reader.buffer().is_empty() {
            reader.fill_buf()?;
        }
        if let Some(whole) = reader.buffer().get(..len) {
            each(line, whole)?;
            reader.consume(len);
        } else {
            // By exact steps: a long line shall not cost twice its length.
            split.clear();
            split.reserve_exact(len);
            split.resize(len, 0);
            reader.read_exact(&mut split)?;
            each(line, &split)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn gives_the_lines_that_are_asked_for_however_they_lie() {
        let long = "x".repeat(3 * CHUNK);
        let file = format!("a\n{long}\n\n{{}}\n{long}{long}\nlast");
        let index = Index::build(file.as_bytes()).unwrap();
        let all: Vec<&str> = file.split_inclusive('\n').collect();
        for bits in 0..1 << all.len() {
            let wanted: LineSet = index.lines().filter(|line| bits >> line.0 & 1 == 1).collect();
            let mut found = LineSet::default();
            revisit(Cursor::new(&file), &index, &wanted, |line, bytes| {
                assert_eq!(bytes, all[line.idx()].as_bytes());
                found.insert(line);
                io::Result::Ok(())
            })
            .unwrap();
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_file_that_has_become_shorter_is_an_error() {
        let index = Index::build(&b"one\ntwo\n"[..]).unwrap();
        let result = revisit(Cursor::new(b"one\n"), &index, &index.lines().collect(), |_, _| io::Result::Ok(()));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
