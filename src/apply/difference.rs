//! How a transcript differs from one that was made of it by other means than edits: what the archive needs to bring the
//! first back from the second.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::Seek;

use super::ApplyError;
use super::keeper::{Keeper, Kept};
use super::restore::with_session;
use crate::archive::Archive;
use crate::text::Digest;
use crate::transcript::scan::Scan;
use crate::transcript::{Fingerprint, IdHash, LineReader};

/// Puts into `archive` every line that `source` has and `output` does not, and says how the one is built again from
/// the other, and what the source was as it was read now. `session` is the id of `output`, where it is a session of its own.
///
/// # Errors
/// When one of both cannot be read, or the archive not be written.
pub(super) fn keep_difference(
    source: &File,
    output: &File,
    session: Option<&str>,
    archive: &mut dyn Archive,
) -> Result<(Kept, Fingerprint), ApplyError> {
    let known = uuids(source)?;
    let mut output = Output::read(output, &known)?;
    let mut keeper = Keeper::new(Some(archive));
    let mut hasher = blake3::Hasher::new();
    let mut lines = opened(source)?;
    while let Some(line) = lines.next_line().map_err(ApplyError::Read)? {
        hasher.update(line);
        let scan = Scan::of(line);
        let hash = IdHash::of(line);
        // A line that keeps its id among those that got another has to say so.
        let old =
            scan.session_id.filter(|_| session.is_some()).and_then(|it| std::str::from_utf8(it.string(line)?).ok());
        let Some((at, digest, is_same)) = output.counterpart(uuid_of(&scan, line), hash) else {
            if let Some(id) = old {
                keeper.left(id);
            }
            keeper.replaced(line, None)?;
            continue;
        };
        keeper.skipped(output.pass(at));
        let is_moved = match (old, session) {
            (Some(_), Some(id)) => Digest::of(&with_session(line, id)?) == digest,
            _ => false,
        };
        if is_same || is_moved {
            keeper.copied(1, old);
        } else {
            keeper.skipped(1);
            if let Some(id) = old {
                keeper.left(id);
            }
            keeper.replaced(line, Some(digest))?;
        }
    }
    keeper.skipped(output.pass(output.lines.len()));
    let fingerprint = lines.fingerprint();
    let (recipe, session_ids) = keeper.finish();
    Ok((Kept { recipe, session_ids, source: hasher.finalize().into(), output: output.digest }, fingerprint))
}

fn opened(mut file: &File) -> Result<LineReader<&File>, ApplyError> {
    file.rewind().map_err(ApplyError::Read)?;
    Ok(LineReader::new(file))
}

/// The uuids of all entries.
fn uuids(file: &File) -> Result<HashSet<IdHash>, ApplyError> {
    let mut uuids = HashSet::new();
    let mut lines = opened(file)?;
    while let Some(line) = lines.next_line().map_err(ApplyError::Read)? {
        uuids.extend(uuid_of(&Scan::of(line), line));
    }
    Ok(uuids)
}

fn uuid_of(scan: &Scan, line: &[u8]) -> Option<IdHash> {
    scan.uuid.map(|span| IdHash::of(span.of(line)))
}

/// The lines of the output, and how far they are used up.
struct Output {
    lines: Vec<OutputLine>,
    by_uuid: HashMap<IdHash, VecDeque<usize>>,
    position: usize,
    digest: Digest,
}

struct OutputLine {
    hash: IdHash,
    digest: Digest,
    /// Whether the source has an entry of its uuid.
    is_known: bool,
}

impl Output {
    fn read(file: &File, known: &HashSet<IdHash>) -> Result<Self, ApplyError> {
        let mut hasher = blake3::Hasher::new();
        let mut output = Self { lines: Vec::new(), by_uuid: HashMap::new(), position: 0, digest: Digest::of(b"") };
        let mut reader = opened(file)?;
        while let Some(line) = reader.next_line().map_err(ApplyError::Read)? {
            hasher.update(line);
            let uuid = uuid_of(&Scan::of(line), line).filter(|uuid| known.contains(uuid));
            if let Some(uuid) = uuid {
                output.by_uuid.entry(uuid).or_default().push_back(output.lines.len());
            }
            let is_known = uuid.is_some();
            output.lines.push(OutputLine { hash: IdHash::of(line), digest: Digest::of(line), is_known });
        }
        output.digest = hasher.finalize().into();
        Ok(output)
    }

    /// The next line that is that of `uuid`, its digest, and whether it is the same in every byte. What has no uuid is
    /// looked for among its like alone, up to the next entry that the source has too, and has to be the same.
    fn counterpart(&mut self, uuid: Option<IdHash>, hash: IdHash) -> Option<(usize, Digest, bool)> {
        let at = if let Some(uuid) = uuid {
            let places = self.by_uuid.get_mut(&uuid)?;
            while places.front().is_some_and(|at| *at < self.position) {
                places.pop_front();
            }
            *places.front()?
        } else {
            let ahead = self.lines.iter().enumerate().skip(self.position);
            ahead.take_while(|(_, line)| !line.is_known).find(|(_, line)| line.hash == hash)?.0
        };
        let line = self.lines.get(at)?;
        Some((at, line.digest, line.hash == hash))
    }

    /// Goes past the line at `at`; returns how many were gone past before it.
    fn pass(&mut self, at: usize) -> u64 {
        let n_passed = at.saturating_sub(self.position);
        self.position = at + 1;
        n_passed as u64
    }
}
