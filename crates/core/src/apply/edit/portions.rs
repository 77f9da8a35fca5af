//! Original lines in portions: an archive on a server takes its time for each answer, and memory has room for a few lines
//! alone.

use ctxc_store::{Archive, ArchiveError};
use ctxc_transcript::text::Digest;

/// How many bytes are asked for at once, a single longer line aside.
const BYTES: u64 = 1 << 20;
/// How many lines are asked for at once.
const LINES: usize = 512;

/// Lines that are asked for one after the other.
#[derive(Debug)]
pub(in crate::apply) struct Portions {
    /// Those that are still to be asked for, with their lengths; the next one comes last.
    left: Vec<(Digest, u64)>,
    /// Those that are there already; the next one comes last.
    ready: Vec<Option<Vec<u8>>>,
}

impl Portions {
    /// The lines with these digests and these lengths in bytes. One of which no length is known is asked for alone.
    pub(in crate::apply) fn of(lines: impl DoubleEndedIterator<Item = (Digest, Option<u64>)>) -> Self {
        let left = lines.rev().map(|(digest, bytes)| (digest, bytes.unwrap_or(BYTES))).collect();
        Self { left, ready: Vec::new() }
    }

    /// The next line; `None` where the archive does not have it, and behind the last.
    ///
    /// # Errors
    /// When the archive cannot be read, or what it holds is damaged.
    pub(in crate::apply) fn next(&mut self, archive: &dyn Archive) -> Result<Option<Vec<u8>>, ArchiveError> {
        if self.ready.is_empty() {
            let portion = self.portion();
            self.ready = archive.lines(&portion)?;
            self.ready.reverse();
        }
        Ok(self.ready.pop().flatten())
    }

    /// Takes the digests of the next portion off those that are left.
    fn portion(&mut self) -> Vec<Digest> {
        let mut portion = Vec::new();
        let mut n_bytes = 0;
        while portion.len() < LINES
            && let Some((digest, bytes)) =
                self.left.pop_if(|(_, bytes)| portion.is_empty() || n_bytes + *bytes <= BYTES)
        {
            portion.push(digest);
            n_bytes += bytes;
        }
        portion
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxc_store as archive;
    use ctxc_store::{ArchiveUrl, Original};

    // few long lines at a time, many short ones, and each in its place whether it is there or not.
    #[test]
    fn lines_come_in_portions_and_in_their_order() {
        let mut archive = archive::open(&ArchiveUrl::Memory).unwrap();
        let long = vec![b'l'; 700_000];
        let mut put = |line: &[u8]| {
            let original = Original { line, uuid: None, replaced_by: None };
            (archive.put_original(&original).unwrap(), Some(line.len() as u64))
        };
        let (first, second, short) = (put(&long), put(&vec![b'm'; 700_000]), put(b"short"));
        let unknown = (put(b"of no known length").0, None);
        archive.commit().unwrap();
        let lost = (Digest::of(b"lost"), Some(4));
        let mut portions = Portions::of([first, second, short, lost, unknown, short].into_iter());
        assert_eq!(portions.portion(), [first.0]);
        assert_eq!(portions.portion(), [second.0, short.0, lost.0]);
        assert_eq!(portions.portion(), [unknown.0]);
        let mut portions = Portions::of([first, second, short, lost, unknown, short].into_iter());
        let mut lengths = Vec::new();
        for _ in 0..7 {
            lengths.push(portions.next(&*archive).unwrap().map(|line| line.len()));
        }
        assert_eq!(lengths, [Some(700_000), Some(700_000), Some(5), None, Some(18), Some(5), None]);
        let mut many = Portions::of(std::iter::repeat_n(short, LINES + 1).collect::<Vec<_>>().into_iter());
        assert_eq!((many.portion().len(), many.portion().len(), many.portion().len()), (LINES, 1, 0));
    }
}
