//! Sessions into the archive: every line once, and those that are new.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::atomic::AtomicBool;

use super::{Known, LineKey, Run, State, Step, Sum, Version, VersionError, keys, recognise};
use crate::archive::{Archive, LineId};
use crate::text::{Digest, Stopped};
use crate::transcript::{Flags, Index, LineNo, LineReader};

/// How many bytes of lines are given to the archive at once.
const BATCH: usize = 1 << 20;
/// How many bytes are put before they are committed, so that no other writer waits for long.
const PORTION: usize = 16 << 20;

/// A session that the archive has whole.
#[derive(Clone, Debug)]
pub struct Deposited {
    /// Its lines.
    pub state: State,
    /// What was known of it before, with what stands behind that in the state by now.
    pub known: Option<Known>,
    /// The keys of the lines of the file.
    pub keys: Vec<LineKey>,
    /// How many lines of the file were new.
    pub n_new: u32,
}

/// Puts every line of `file`, which `index` was built from, into the archive, but for those that it has. The state itself
/// becomes visible with the next commit; lines are committed on the way. `session` is the id of a session that was not
/// known.
///
/// # Errors
/// When the file cannot be read, or the archive fails.
pub fn deposit(
    archive: &mut dyn Archive,
    file: &File,
    index: &Index,
    session: &str,
    stop: &AtomicBool,
) -> Result<Deposited, VersionError> {
    let keys = keys(file, index)?;
    let known = recognise(archive, &keys)?;
    let from = known.as_ref().map_or(0, |known| known.n_lines);
    let torn = torn_line(index, file)?.filter(|_| from < index.n_lines());
    let n_whole = index.n_lines() - u32::from(torn.is_some());
    let is_same_torn = |known: &Known| known.version.is_none() && known.state.torn == torn.clone().unwrap_or_default();
    if let Some(known) = &known
        && (from == index.n_lines() || (from == n_whole && is_same_torn(known)))
    {
        let n_new = 0;
        return Ok(Deposited { state: known.state.clone(), known: Some(known.clone()), keys, n_new });
    }
    let mut lines = Vec::new();
    let mut runs = Vec::new();
    let mut stored: Vec<LineKey> = Vec::new();
    if let Some(Known { state, version, .. }) = &known {
        lines.clone_from(&state.lines);
        runs.clone_from(&state.runs);
        if version.is_some() {
            stored = stored_keys(archive, state)?;
            // It stands in the middle of the file by now.
            if !state.torn.is_empty() {
                let whole = [&state.torn, &b"\n"[..]].concat();
                lines.extend(archive.put_lines(&[(Digest::of(&whole), &whole)])?);
                stored.push(LineKey::scanned(&whole));
                extend(&mut runs, Run { n_lines: 1, under: None });
            }
        }
    }
    let is_grown_source = known.as_ref().is_none_or(|known| known.version.is_none());
    let (new, ends_line) = put(archive, file, index, from..n_whole, stop)?;
    lines.extend(new);
    let under = known.as_ref().and_then(|known| known.version.as_ref()).map(Version::key);
    extend(&mut runs, Run { n_lines: n_whole - from, under });
    let new_keys = keys.get(from as usize..n_whole as usize).unwrap_or_default();
    let sum: Sum = if is_grown_source {
        keys.iter().take(n_whole as usize).copied().collect()
    } else {
        stored.iter().chain(new_keys).copied().collect()
    };
    let state = State {
        lines,
        runs,
        sum: sum.digest(),
        group: sum.first().map(LineKey::group),
        ends_line,
        torn: torn.unwrap_or_default(),
        session: known.as_ref().map_or_else(|| session.to_owned(), |known| known.state.session.clone()),
        parent: known.as_ref().map(|known| known.state.key()),
    };
    archive.put_object(&state.object())?;
    if let Some(version) = known.as_ref().and_then(|known| known.version.as_ref())
        && state.torn.is_empty()
    {
        // Where no operation holds, its lines are those of the state; yet they came of operations.
        let sum: Sum = keys.iter().copied().collect();
        let steps = version.steps.iter().cloned().chain([Step::Keep(n_whole - from)]).collect();
        let grown = Version::new(state.key(), version.operations.clone(), steps, &sum, version.saved);
        archive.put_object(&grown.object())?;
    }
    Ok(Deposited { state, known, keys, n_new: n_whole - from })
}

fn extend(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        _ if run.n_lines == 0 => {}
        Some(last) if last.under == run.under => last.n_lines += run.n_lines,
        _ => runs.push(run),
    }
}

/// The last line of the file, where it is not whole.
fn torn_line(index: &Index, file: &File) -> Result<Option<Vec<u8>>, VersionError> {
    let Some(last) = index.lines().next_back() else { return Ok(None) };
    if !index.record(last).flags.any(Flags::MALFORMED) {
        return Ok(None);
    }
    let mut buffer = Vec::new();
    let line = crate::transcript::read_line(file, index, last, &mut buffer)?;
    Ok((!line.ends_with(b"\n")).then(|| line.to_vec()))
}

/// The keys of the lines that the archive has of `state`.
fn stored_keys(archive: &dyn Archive, state: &State) -> Result<Vec<LineKey>, VersionError> {
    let mut keys = Vec::with_capacity(state.lines.len());
    archive.each_line(&state.lines, &mut |_, line| {
        keys.push(LineKey::scanned(line));
        Ok(())
    })?;
    Ok(keys)
}

/// Puts the lines of `range`; gives their ids, and whether the last of them has an end.
fn put(
    archive: &mut dyn Archive,
    mut file: &File,
    index: &Index,
    range: std::ops::Range<u32>,
    stop: &AtomicBool,
) -> Result<(Vec<LineId>, bool), VersionError> {
    let mut ids = Vec::with_capacity(range.len());
    let mut ends_line = true;
    let start = if range.start < index.n_lines() { index.offset(LineNo(range.start)) } else { return Ok((ids, true)) };
    file.seek(SeekFrom::Start(start))?;
    let mut lines = LineReader::new(file);
    let mut batch: Vec<u8> = Vec::with_capacity(BATCH + BATCH / 4);
    let mut ends: Vec<usize> = Vec::new();
    let mut n_pending = 0;
    for _ in range {
        let Some(line) = lines.next_line()? else { break };
        batch.extend_from_slice(line);
        ends_line = line.ends_with(b"\n");
        if !ends_line {
            batch.push(b'\n');
        }
        ends.push(batch.len());
        if batch.len() >= BATCH {
            Stopped::check(stop)?;
            n_pending += batch.len();
            ids.extend(put_batch(archive, &mut batch, &mut ends)?);
            if n_pending >= PORTION {
                archive.commit()?;
                n_pending = 0;
            }
        }
    }
    ids.extend(put_batch(archive, &mut batch, &mut ends)?);
    Ok((ids, ends_line))
}

fn put_batch(
    archive: &mut dyn Archive,
    batch: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) -> Result<Vec<LineId>, VersionError> {
    let mut start = 0;
    let lines: Vec<(Digest, &[u8])> = ends
        .iter()
        .map(|&end| {
            let line = batch.get(std::mem::replace(&mut start, end)..end).unwrap_or_default();
            (Digest::of(line), line)
        })
        .collect();
    let ids = if lines.is_empty() { Vec::new() } else { archive.put_lines(&lines)? };
    drop(lines);
    batch.clear();
    batch.shrink_to(BATCH + BATCH / 4);
    ends.clear();
    Ok(ids)
}
