//! Original lines in portions: an archive on a server takes its time for each answer, and memory has room for a few lines
//! alone.

/// The most bytes read at once, unless a single line is longer.
const BYTES: u64 = 1 << 20;
/// The most lines read at once.
const LINES: usize = 512;

/// `lines` in their order, as many at a time as are asked for at once; `len` gives their lengths in bytes.
pub(super) fn split_into_portions<T>(mut lines: &[T], len: impl Fn(&T) -> u64) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut n_bytes = 0;
        let n_lines = lines.iter().take(LINES).take_while(|line| {
            n_bytes += len(line);
            n_bytes <= BYTES
        });
        let (portion, rest) = lines.split_at_checked(n_lines.count().max(1))?;
        lines = rest;
        Some(portion)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxc_store as archive;
    use ctxc_store::{ArchiveUrl, Original};
    use ctxc_transcript::text::Digest;

    // few long lines at a time, many short ones, and each in its place whether it is there or not.
    #[test]
    fn lines_come_in_portions_and_in_their_order() {
        let mut archive = archive::open(&ArchiveUrl::Memory).unwrap();
        let long = vec![b'l'; 700_000];
        let mut put = |line: &[u8]| {
            let original = Original { line, uuid: None, replaced_by: None };
            (archive.put_original(&original).unwrap(), line.len() as u64)
        };
        let (first, second, short) = (put(&long), put(&vec![b'm'; 700_000]), put(b"short"));
        let longest = put(&vec![b'n'; 2_000_000]);
        archive.commit().unwrap();
        let lost = (Digest::of(b"lost"), 4);
        let lines = [first, second, short, lost, longest, short];
        let all: Vec<_> = split_into_portions(&lines, |line| line.1).collect();
        assert_eq!(all, [&[first][..], &[second, short, lost], &[longest], &[short]]);
        let mut lengths = Vec::new();
        for portion in all {
            let digests: Vec<Digest> = portion.iter().map(|(digest, _)| *digest).collect();
            lengths.extend(archive.read_lines(&digests).unwrap().into_iter().map(|line| line.map(|line| line.len())));
        }
        assert_eq!(lengths, [Some(700_000), Some(700_000), Some(5), None, Some(2_000_000), Some(5)]);
        let many = vec![short; LINES + 1];
        assert_eq!(split_into_portions(&many, |line| line.1).map(<[_]>::len).collect::<Vec<_>>(), [LINES, 1]);
        assert_eq!(split_into_portions(&many[..0], |line| line.1).count(), 0);
    }
}
