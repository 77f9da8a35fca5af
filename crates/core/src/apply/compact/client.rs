//! A compaction that the client carried out with what ctxc gave it: repaired so that a resume sends it once (C-03), and taken
//! up into the archive as an operation (C-04).
//!
//! The file then has the old entries, a boundary, the view, and entries that the client wrote again. Those that it wrote by
//! their handles hang on their old parents and have their old message ids, so that a resume would send the old entries too.
//! The boundary once more, with a list that keeps nothing, ends that: the later line counts (C-09).

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use serde_json::json;

use super::again::{EarlierMessages, Uncut};
use crate::apply::edit::own_edits::Lines;
use crate::apply::error::ApplyError;
use crate::apply::read::lines::each_page;
use crate::apply::render::take_edits::measured;
use crate::apply::write::carry_out::note_originals;
use crate::apply::write::file::ends_line;
use crate::version;
use crate::version::{Address, Deposited, Edit, Edits, Inserted, KeptSession, LineKey, State, Step, Sum, Version};
use ctxc_store::{Archive, FileRef, Operation};
use ctxc_transcript::edit::{Splice, render};
use ctxc_transcript::scan::{Kind, Scan};
use ctxc_transcript::text::{Digest, Tokens};
use ctxc_transcript::{Calibration, Chain, Flags, Index, LineNo, MessageIdx, Parent, Totals, Transcript, read_line};

/// The last compaction of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCompaction {
    /// Its boundary, as it was first written.
    pub boundary: LineNo,
    /// The same line once more, where there is one.
    pub repeated: Option<LineNo>,
    /// The first line behind what the client wrote at once: boundary, view, and entries again.
    pub end: LineNo,
    /// Whether a resume would send what stands before it as well.
    pub is_open: bool,
}

impl ClientCompaction {
    /// The last compaction in `file`, if `is_own` knows its summary by its text.
    ///
    /// # Errors
    /// When the file cannot be read, and those of `is_own`.
    pub fn find<E: From<io::Error>>(
        file: &File,
        index: &Index,
        is_own: impl FnOnce(&str) -> Result<bool, E>,
    ) -> Result<Option<Self>, E> {
        let is_boundary = |line: &LineNo| {
            let record = index.record(*line);
            record.kind == Kind::System && record.flags.any(Flags::COMPACT_BOUNDARY)
        };
        let uuid = |line: LineNo| index.record(line).uuid;
        let Some(last) = index.lines().rfind(is_boundary) else { return Ok(None) };
        // A repeated line stands for the first, which need not be the last boundary.
        let first_of = |line| index.lines().filter(is_boundary).find(|it| uuid(*it) == uuid(line)).unwrap_or(line);
        let boundary = index.lines().filter(is_boundary).map(first_of).max().unwrap_or(last);
        let repeated = index.lines().filter(is_boundary).rfind(|it| uuid(*it) == uuid(boundary) && *it != boundary);
        let behind = || (boundary.0 + 1..index.n_lines()).map(LineNo);
        let mut buffer = Vec::new();
        let Some(view) = behind().next().filter(|line| index.record(*line).kind == Kind::User) else { return Ok(None) };
        let bytes = read_line(file, index, view, &mut buffer)?;
        if !is_own(&ctxc_transcript::entry::text(&Scan::of(bytes), bytes))? {
            return Ok(None);
        }
        // What the client makes anew it does between the view and the boundary, which it writes first and makes last.
        let made_from = time_of(bytes).unwrap_or_default();
        let made_to = time_of(read_line(file, index, boundary, &mut buffer)?).unwrap_or_default();
        let before = times(file, index, boundary)?;
        let mut end = view.0 + 1;
        // Attachments may stand between what was written again.
        for line in behind().skip(1).filter(|line| index.record(*line).is_message()) {
            let time = time_of(read_line(file, index, line, &mut buffer)?);
            let is_made = |time: &Vec<u8>| made_from <= *time && *time <= made_to;
            if !time.is_some_and(|time| is_made(&time) || before.contains(&time)) {
                break;
            }
            end = line.0 + 1;
        }
        let said = read_line(file, index, repeated.unwrap_or(boundary), &mut buffer)?;
        let says = index.record(repeated.unwrap_or(boundary)).flags.any(Flags::PRESERVES.with(Flags::KEEPS_NOTHING));
        let is_open = !says && said.ends_with(b"\n") && hangs_on_old(index, boundary, LineNo(end));
        Ok(Some(Self { boundary, repeated, end: LineNo(end), is_open }))
    }

    /// Whether an archive that knows the first `n_lines` of the file has it as an operation.
    #[must_use]
    pub fn is_known(&self, n_lines: u32) -> bool {
        self.boundary.0 < n_lines && self.repeated.is_none_or(|repeated| repeated.0 < n_lines)
    }

    /// The boundary once more, with a list that keeps nothing, and its line end; `None` where nothing is to be repaired.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn repair_line(&self, file: &File, index: &Index) -> io::Result<Option<Vec<u8>>> {
        if !self.is_open {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        let view = read_line(file, index, LineNo(self.boundary.0 + 1), &mut buffer)?;
        let anchor = Scan::of(view).uuid.map(|uuid| uuid.of(view).to_vec());
        let bytes = read_line(file, index, self.boundary, &mut buffer)?;
        let metadata = Scan::of(bytes).compact_metadata;
        let (Some(anchor), Some(metadata)) = (anchor, metadata) else { return Ok(None) };
        let own = [&br#"{"preservedMessages":{"anchorUuid":"#[..], &anchor, br#","uuids":[],"allUuids":[]}"#].concat();
        let rest = metadata.of(bytes).strip_prefix(b"{").unwrap_or(b"}").trim_ascii_start();
        let comma: &[u8] = if rest.starts_with(b"}") { b"" } else { b"," };
        let value = [&own[..], comma, rest].concat();
        render(bytes, &[Splice::new(metadata, value)]).map(Some).map_err(io::Error::other)
    }
}

/// Whether an entry between `boundary` and `end` has a parent before it, or is of a message that is there too. Entries from `end`
/// on may have such a parent for another reason: a second client has gone on with what it has in memory.
fn hangs_on_old(index: &Index, boundary: LineNo, end: LineNo) -> bool {
    let before = index.lines().take_while(|line| *line < boundary);
    let messages: HashSet<MessageIdx> = before.filter_map(|line| index.record(line).message()).collect();
    index.lines().filter(|line| boundary < *line && *line < end).any(|line| {
        let record = index.record(line);
        let is_boundary = record.flags.any(Flags::COMPACT_BOUNDARY);
        !is_boundary && matches!(index.named_parent(line), Parent::At(parent) if parent < boundary)
            || record.kind == Kind::Assistant && record.message().is_some_and(|message| messages.contains(&message))
    })
}

/// The timestamp of the entry in `line`, as it stands there.
fn time_of(line: &[u8]) -> Option<Vec<u8>> {
    Scan::of(line).timestamp.map(|time| time.of(line).to_vec())
}

/// The timestamps of the messages before `end`.
fn times(file: &File, index: &Index, end: LineNo) -> io::Result<HashSet<Vec<u8>>> {
    let lines = index.lines().take_while(|line| *line < end).filter(|line| index.record(*line).is_message()).collect();
    let mut times = HashSet::new();
    each_page(file, index, &lines, |page| times.extend(page.scan.timestamp.map(|time| time.of(page.bytes).to_vec())))?;
    Ok(times)
}

/// Appends `line` to the file at `path`, which was `len` bytes long when it was read: whether it did. A file that has changed
/// since, or whose last line is not whole, is left alone.
///
/// # Errors
/// When the file cannot be written.
pub fn append_line(path: &Path, len: u64, line: &[u8]) -> io::Result<bool> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    // Two hooks may run at once. The client does not lock, and writes whole lines at its end.
    file.lock()?;
    if file.metadata()?.len() != len || len == 0 || !ends_line(&file, len)? {
        return Ok(false);
    }
    file.write_all(line)?;
    Ok(true)
}

/// Who takes a compaction up, and what of.
#[derive(Clone, Copy, Debug)]
pub struct TakeUp<'a> {
    /// The file of the session, read.
    pub file: &'a File,
    /// Its index.
    pub index: &'a Index,
    /// Where it is.
    pub path: &'a Path,
    /// The id of the session.
    pub session: &'a str,
    /// The id of the operation.
    pub operation: &'a str,
    /// The time.
    pub now: Timestamp,
    /// Set when the work shall stop.
    pub stop: &'a AtomicBool,
}

/// Takes the compaction `found` up into the archive, where it is not there yet: the session as it was before, and
/// an operation that leaves its messages out and puts the boundary, the view and what the client wrote again in their place.
/// Whether something was new.
///
/// # Errors
/// When the file or the archive fails. What is not committed is taken up the next time.
pub fn take_up(archive: &mut dyn Archive, found: &ClientCompaction, taken: TakeUp<'_>) -> Result<bool, ApplyError> {
    let TakeUp { file, index, .. } = taken;
    let n_known = |archive: &dyn Archive| -> Result<u32, ApplyError> {
        Ok(version::recognise(archive, file, index)?.1.map_or(0, |known| known.n_lines))
    };
    if found.is_known(n_known(archive)?) {
        return Ok(false);
    }
    // Two at once, such as the hooks of two clients, would both take up what both found missing.
    archive.claim()?;
    if n_known(archive)? <= found.boundary.0 {
        note_operation(archive, found, taken)?;
        archive.commit()?;
        archive.claim()?;
    }
    if let Some(repeated) = found.repeated
        && n_known(archive)? <= repeated.0
    {
        note_repeated(archive, repeated, taken)?;
    }
    archive.commit()?;
    Ok(true)
}

/// The first `n_lines` of a file, with their index.
fn part(mut file: &File, index: &Index, n_lines: u32) -> io::Result<Index> {
    let len = if n_lines < index.n_lines() { index.offset(LineNo(n_lines)) } else { index.n_bytes };
    file.rewind()?;
    Index::build(file.take(len))
}

/// How what was deposited just now was rendered, and which lines of the session its lines are: what is not committed cannot be
/// read back.
fn rendered(deposited: &Deposited) -> (Version, Lines) {
    let state = &deposited.state;
    let known = deposited.known.as_ref().and_then(|known| known.version.clone());
    let Some(mut version) = known.filter(|_| deposited.version.is_some()) else {
        let steps = vec![Step::Keep(state.n_lines())];
        return (Version::new(state.key(), Vec::new(), steps, &Sum::default(), 0), Lines::plain());
    };
    if deposited.n_new > 0 {
        let n_behind = deposited.n_new - version.n_closing().min(deposited.n_new);
        let saved = version.saved_going_on();
        let steps = version.steps_going_on().into_iter().chain([Step::Keep(n_behind)]).collect();
        version = Version { steps, saved, ..version };
    }
    let lines = Lines::of(&version, state.n_lines());
    (version, lines)
}

/// The context usage before and after as an operation notes it, in the form that the program reads from its reports.
fn noted_usage(calibration: &Calibration, before: Tokens, after: Tokens) -> String {
    let (before, after) = (calibration.context(before).0, calibration.context(after).0);
    json!({ "tokens_before": before, "tokens_after": after, "factor": calibration.factor }).to_string()
}

/// Notes what stands before the boundary as a state, and the compaction as an operation on it.
fn note_operation(archive: &mut dyn Archive, found: &ClientCompaction, taken: TakeUp<'_>) -> Result<(), ApplyError> {
    let TakeUp { file, index, .. } = taken;
    let before = part(file, index, found.boundary.0)?;
    let chain = Chain::find(&before);
    let deposited = version::deposit(archive, file, &before, taken.session, taken.stop)?;
    let (Version { mut operations, mut steps, mut saved, .. }, lines) = rendered(&deposited);
    let state = &deposited.state;
    let mut sum: Sum = deposited.keys.iter().copied().collect();
    let again = EarlierMessages::read(Transcript { file, index: &before, chain: &chain })?;
    let written: Vec<LineNo> = (found.boundary.0..found.end.0).map(LineNo).collect();
    // The boundary and the view say nothing again.
    let views = written.len().min(2);
    let originals = again.originals(file, index, written.get(views..).unwrap_or_default())?;
    let originals = std::iter::repeat_n(Vec::new(), views).chain(originals);
    let mut replaced: HashMap<LineNo, Digest> = HashMap::new();
    let (mut inserted, mut cut_again, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
    let mut parent: Option<Vec<u8>> = None;
    let mut tokens = 0;
    let mut buffer = Vec::new();
    for ((at, line), originals) in (0u32..).zip(written).zip(originals) {
        let bytes = read_line(file, index, line, &mut buffer)?;
        let scan = Scan::of(bytes);
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        sum.push(LineKey::scanned(text));
        tokens += measured(text);
        replaced.extend(originals.into_iter().map(|original| (original, Digest::of(bytes))));
        // The session has it as it was, so that what was cut can be given back by itself.
        let uncut = again.uncut(file, &before, &scan, text)?;
        let Uncut { line: whole, splices, cuts: own } = uncut.unwrap_or_default();
        let (whole, own_scan) = if splices.is_empty() { (text, None) } else { (&*whole, Some(Scan::of(&whole))) };
        inserted.push(relinked(own_scan.as_ref().unwrap_or(&scan), whole, parent.as_deref())?);
        let operation = taken.operation.to_owned();
        let cut = |splice: &Splice| Edit::Splice {
            line: Address::Inserted { operation: operation.clone(), at },
            splice: splice.clone(),
            is_seen: true,
        };
        cut_again.extend(splices.iter().map(cut));
        cuts.extend(own);
        steps.push(Step::Insert(Inserted::By { operation, at, splices }, text.to_vec()));
        parent = scan.uuid.map(|uuid| uuid.of(bytes).to_vec()).or(parent);
    }
    let live = chain.lines.iter().filter_map(|line| lines.get(*line).0);
    let n_stored = LineNo(state.n_lines());
    let insert = Edit::Insert { before: Address::Stored(n_stored), lines: inserted };
    let edits: Vec<Edit> = live.map(Edit::Drop).chain([insert]).chain(cut_again).collect();
    let before_tokens = Totals::of(&before, &chain).context();
    let after_tokens = Tokens(tokens.max(0).unsigned_abs());
    saved += before_tokens.0.cast_signed() - tokens;
    let mut changed: Vec<(LineNo, Option<Digest>)> =
        chain.lines.iter().map(|line| (*line, replaced.get(line).copied())).collect();
    changed.sort_unstable_by_key(|(line, _)| *line);
    note_originals(file, index, &changed, &[], archive)?;
    let edits = Edits { operation: taken.operation.to_owned(), edits, ..Edits::default() };
    operations.push(taken.operation.to_owned());
    let version = Version::new(state.key(), operations, steps, &sum, saved);
    let read = deposited.version.unwrap_or_else(|| state.key());
    let end = if found.end.0 < index.n_lines() { index.offset(found.end) } else { index.n_bytes };
    let reference = |digest, bytes| FileRef { path: Some(taken.path.to_owned()), digest, bytes };
    let operation = Operation {
        id: taken.operation.to_owned(),
        verb: "compact".to_owned(),
        command: "ctxc client compact".to_owned(),
        session: taken.session.to_owned(),
        time: taken.now,
        source: reference(read, before.n_bytes),
        output: reference(version.key(), end),
        session_ids: Vec::new(),
        cuts,
        tokens: Some((before_tokens, after_tokens)),
        report: Some(noted_usage(&Calibration::learn(&before, &chain), before_tokens, after_tokens)),
    };
    archive.put_object(&edits.object())?;
    archive.put_object(&version.object())?;
    archive.put_operation(&operation)?;
    put_session(archive, state, &version, end, taken)
}

/// Notes the boundary that was written once more as what follows from the operation: it is in the file, and in no session.
fn note_repeated(archive: &mut dyn Archive, repeated: LineNo, taken: TakeUp<'_>) -> Result<(), ApplyError> {
    let TakeUp { file, index, .. } = taken;
    let before = part(file, index, repeated.0)?;
    let deposited = version::deposit(archive, file, &before, taken.session, taken.stop)?;
    if deposited.version.is_none() {
        return Ok(());
    }
    let (Version { operations, mut steps, saved, .. }, _) = rendered(&deposited);
    let state = &deposited.state;
    let mut buffer = Vec::new();
    let bytes = read_line(file, index, repeated, &mut buffer)?;
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let mut sum: Sum = deposited.keys.iter().copied().collect();
    sum.push(LineKey::scanned(text));
    steps.push(Step::Insert(Inserted::Derived, text.to_vec()));
    let len = before.n_bytes + bytes.len() as u64;
    let version = Version::new(state.key(), operations, steps, &sum, saved);
    archive.put_object(&version.object())?;
    put_session(archive, state, &version, len, taken)
}

fn put_session(
    archive: &mut dyn Archive,
    state: &State,
    version: &Version,
    bytes: u64,
    taken: TakeUp<'_>,
) -> Result<(), ApplyError> {
    let TakeUp { file, index, .. } = taken;
    let chain = Chain::find(index);
    let kept = KeptSession {
        id: taken.session.to_owned(),
        path: Some(taken.path.to_owned()),
        title: crate::apply::title_of(Transcript { file, index, chain: &chain })?,
        state: state.key().to_string(),
        version: Some(version.key().to_string()),
        time: taken.now,
        bytes,
        is_exact: false,
    };
    archive.put_object(&kept.object()).map_err(ApplyError::Archive)
}

/// The line as the session has it, hung on the one before it. Places of values are the same in both: only what is as long is
/// replaced.
fn relinked(scan: &Scan, text: &[u8], parent: Option<&[u8]>) -> Result<String, ApplyError> {
    let parent = parent.zip(scan.parent_uuid).filter(|(parent, span)| span.of(text).len() == parent.len());
    let splices: Vec<Splice> = parent.map(|(parent, span)| Splice::new(span, parent)).into_iter().collect();
    let line = render(text, &splices).map_err(|error| ApplyError::Read(io::Error::other(error)))?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}
