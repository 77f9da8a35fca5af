//! Which session a file is of, by its content alone (N-05).

use std::fs::File;

use super::key::key_of;
use super::state::head;
use super::{LineKey, StandIns, State, Sum, Version, VersionError, keys};
use ctxc_store::{Archive, ObjectKind};
use ctxc_transcript::text::Digest;
use ctxc_transcript::{Index, read_line};

/// The stored version that a file matches.
#[derive(Clone, Debug)]
pub struct Known {
    /// The state that it starts as, or that it was rendered from.
    pub state: State,
    /// Its rendering; `None` for a source.
    pub version: Option<Version>,
    /// The number of its lines that are known. Those behind them are new.
    pub n_lines: u32,
}

/// The keys of the lines of `file`, which `index` was built from, and which session it is of, whatever its name, and wherever it is: the longest state or version
/// that it begins with, of equally long ones the newest version. `None` for one that the archive does not know, and no keys
/// where it has nothing that starts with the same line: most often one look tells.
///
/// # Errors
/// When the file or the archive cannot be read, or what it holds is damaged.
pub fn recognise(
    archive: &dyn Archive,
    file: &File,
    index: &Index,
) -> Result<(Vec<LineKey>, Option<Known>), VersionError> {
    let Some(first) = index.lines().next() else { return Ok((Vec::new(), None)) };
    let mut buffer = Vec::new();
    let stand_ins = StandIns::load(archive)?;
    let line = stand_ins.of(read_line(file, index, first, &mut buffer)?);
    let group = key_of(&line, index.record(first)).group();
    let has = |kind| archive.objects_of(kind, group).map(|found| !found.is_empty());
    if !has(ObjectKind::State)? && !has(ObjectKind::Version)? {
        return Ok((Vec::new(), None));
    }
    let mut keys = keys(file, index)?;
    stand_ins.translate(&mut keys);
    let known = by_keys(archive, &keys)?;
    Ok((keys, known))
}

/// As [`recognise`], of a file with lines of these keys.
fn by_keys(archive: &dyn Archive, keys: &[LineKey]) -> Result<Option<Known>, VersionError> {
    let Some(first) = keys.first() else { return Ok(None) };
    let mut candidates: Vec<Candidate> = Vec::new();
    for kind in [ObjectKind::State, ObjectKind::Version] {
        let found = archive.objects_of(kind, first.group())?.into_iter();
        let heads = found.filter_map(|(key, bytes)| Some((key, head(&bytes)?)));
        candidates.extend(heads.map(|(key, (n_lines, sum))| Candidate { kind, key, n_lines, sum }));
    }
    // A stable order: of those of one length, the newest version stands last.
    candidates.sort_by_key(|candidate| candidate.n_lines);
    let mut sum = Sum::default();
    let mut keys = keys.iter();
    let mut longest: Option<Candidate> = None;
    let mut digest: Option<Digest> = None;
    for candidate in candidates {
        while sum.n_lines() < candidate.n_lines
            && let Some(key) = keys.next()
        {
            sum.push(*key);
            digest = None;
        }
        if sum.n_lines() == candidate.n_lines
            && *digest.get_or_insert_with(|| sum.digest()) == candidate.sum
            && candidate.n_lines > 0
        {
            longest = Some(candidate);
        }
    }
    let Some(Candidate { kind, key, n_lines, .. }) = longest else { return Ok(None) };
    Ok(Some(if kind == ObjectKind::State {
        Known { state: State::read(archive, key)?, version: None, n_lines }
    } else {
        let version = Version::read(archive, key)?;
        Known { state: State::read(archive, version.state)?, version: Some(version), n_lines }
    }))
}

struct Candidate {
    kind: ObjectKind,
    key: Digest,
    n_lines: u32,
    sum: Digest,
}
