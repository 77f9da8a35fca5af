//! Operations of archives that were written before whole sessions were kept: when a file that one of them wrote is seen,
//! their recipes are carried out once, and they become edits like any others (N-08). This is the one place that reads recipes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::apply::error::ApplyError;
use crate::apply::read::named::OWN_MESSAGE;
use crate::apply::write::file::unnamed_file;
use crate::version::{self, Address, Deposited, Edit, Edits, Inserted, LineKey, Run, State, Step, Sum, Version};
use ctxc_store::{Archive, ObjectKind, Operation, Operations, RecipeStep, lineage};
use ctxc_transcript::edit::{Splice, render};
use ctxc_transcript::scan::{Kind, Scan};
use ctxc_transcript::text::Digest;
use ctxc_transcript::{Index, LineNo, Span};

/// A line with its end, or without one where it is the last of a file that lacks it.
type Line = Vec<u8>;

/// Makes edits of the operations that led to `file`, which lies at `path` and may be listed under one of `sessions`; whether
/// there were any.
///
/// # Errors
/// When the file or the archive cannot be read, when a source does not come out as it was, or when the archive cannot be
/// written.
pub fn adopt(
    archive: &mut dyn Archive,
    file: &mut File,
    path: Option<&Path>,
    sessions: &[String],
) -> Result<bool, ApplyError> {
    let n_known = archive.object_keys(ObjectKind::Edits)?.len();
    if archive.operation_ids()?.len() <= n_known {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    file.rewind()?;
    let Some(newest) = made_by(&bytes, path, sessions, archive)? else { return Ok(false) };
    let n_bytes = usize::try_from(newest.output.bytes).unwrap_or(usize::MAX);
    let mut output = lines_of(bytes.get(..n_bytes).unwrap_or(&bytes));
    let mut way = Vec::new();
    for operation in lineage(archive, &newest)?.into_iter().filter(Operation::changes) {
        if archive.object(ObjectKind::Edits, Edits::key(&operation.id))?.is_some() {
            break;
        }
        // What a client added behind the output is a part of the source of the one after it.
        output = beginning(&output, operation.output.bytes);
        let (source, pairs) = source_of(&operation, &output, archive)?;
        let before = source.clone();
        way.push(Done { operation, source, output: std::mem::replace(&mut output, before), pairs });
    }
    // What was only copied is its own source, too.
    let mut session = Session::deposit(&output, archive)?;
    for done in way.into_iter().rev() {
        session.grow(&done.source, archive)?;
        session.take(&done, archive)?;
    }
    archive.commit()?;
    Ok(true)
}

/// The operation that wrote `bytes`, or their beginning.
fn made_by(
    bytes: &[u8],
    path: Option<&Path>,
    sessions: &[String],
    archive: &dyn Archive,
) -> Result<Option<Operation>, ApplyError> {
    if let Some(operation) = archive.operations(Operations::Wrote(Digest::of(bytes)))?.pop() {
        return Ok(Some(operation));
    }
    let mut candidates = Vec::new();
    if let Some(path) = path.and_then(|path| std::path::absolute(path).ok()) {
        candidates.extend(archive.operations(Operations::At(&path))?);
    }
    for session in sessions {
        candidates.extend(archive.operations(Operations::Of(session))?);
    }
    candidates.sort_by_key(|operation| operation.output.bytes);
    let fits = |operation: &Operation| {
        let n_bytes = usize::try_from(operation.output.bytes).unwrap_or(usize::MAX);
        n_bytes > 0 && bytes.get(..n_bytes).is_some_and(|head| Digest::of(head) == operation.output.digest)
    };
    Ok(candidates.into_iter().rev().find(fits))
}

fn lines_of(bytes: &[u8]) -> Vec<Line> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// The lines of `lines` that are its first `n_bytes`.
fn beginning(lines: &[Line], n_bytes: u64) -> Vec<Line> {
    let mut left = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    let mut beginning = Vec::new();
    for line in lines {
        if left == 0 {
            break;
        }
        beginning.push(line.get(..left.min(line.len())).unwrap_or_default().to_vec());
        left = left.saturating_sub(line.len());
    }
    beginning
}

/// An operation, its source, what it wrote, and which line of that each line of its source became.
struct Done {
    operation: Operation,
    source: Vec<Line>,
    output: Vec<Line>,
    /// By the lines of the source; nothing for those that went.
    pairs: Vec<Option<usize>>,
}

/// The source of `operation`, which wrote `output`, and which line of that each of its lines became.
fn source_of(
    operation: &Operation,
    output: &[Line],
    archive: &dyn Archive,
) -> Result<(Vec<Line>, Vec<Option<usize>>), ApplyError> {
    let recipe = archive.recipe(&operation.id)?.ok_or(ApplyError::NotTheSource)?;
    let (mut source, mut pairs): (Vec<Line>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut replacement = None;
    for step in recipe {
        match step {
            RecipeStep::Copy { lines, session } => {
                replacement = None;
                let id = session.and_then(|at| operation.session_ids.get(at as usize));
                for _ in 0..lines {
                    let line = output.get(at).ok_or(ApplyError::NotTheSource)?;
                    source.push(id.map_or_else(|| line.clone(), |id| with_session(line, id.as_bytes())));
                    pairs.push(Some(at));
                    at += 1;
                }
            }
            RecipeStep::Skip { lines } => {
                at += usize::try_from(lines).unwrap_or(usize::MAX);
                replacement = at.checked_sub(1);
            }
            RecipeStep::Original(digest) => {
                let n_lost = source.len() as u64 + 1;
                let line = archive.line(digest)?.ok_or(ApplyError::LostOriginal(n_lost))?;
                // A line that was inserted may stand before one that went.
                let is_it = |at: &usize| output.get(*at).is_some_and(|it| uuid(it) == uuid(&line));
                pairs.push(replacement.take().filter(is_it));
                source.push(line);
            }
        }
    }
    let mut hasher = blake3::Hasher::new();
    for line in &source {
        hasher.update(line);
    }
    if Digest::from(hasher.finalize()) == operation.source.digest {
        Ok((source, pairs))
    } else {
        Err(ApplyError::NotTheSource)
    }
}

fn uuid(line: &[u8]) -> Option<Vec<u8>> {
    Scan::of(line).uuid.map(|span| span.of(line).to_vec())
}

/// `line` with `id`, as it stands between its quotes, for its session.
fn with_session(line: &[u8], id: &[u8]) -> Line {
    let splice = Scan::of(line).session_id.map(|span| Splice::new(span, [b"\"", id, b"\""].concat()));
    render(line, splice.as_slice()).unwrap_or_else(|_| line.to_vec())
}

fn sum_of(lines: &[Line]) -> Sum {
    lines.iter().map(|line| LineKey::scanned(line)).collect()
}

fn text(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// A session while its operations are taken over.
struct Session {
    state: State,
    /// The lines of the state.
    base: Vec<Line>,
    /// Which line of the state each line of the file is that was written last.
    places: Vec<Option<u32>>,
    version: Option<Version>,
}

impl Session {
    fn deposit(root: &[Line], archive: &mut dyn Archive) -> Result<Self, ApplyError> {
        let mut file = unnamed_file()?;
        root.iter().try_for_each(|line| file.write_all(line)).map_err(ApplyError::WriteResult)?;
        file.rewind()?;
        let index = Index::build(&file)?;
        let session = root.iter().find_map(|line| {
            let id = Scan::of(line).session_id?.string(line)?;
            String::from_utf8(id.to_vec()).ok()
        });
        let stop = AtomicBool::new(false);
        let id = session.unwrap_or_else(|| "-".to_owned());
        let Deposited { state, .. } = version::deposit(archive, &file, &index, &id, &stop)?;
        let places = (0u32..).take(root.len()).map(Some).collect();
        Ok(Self { state, base: root.to_vec(), places, version: None })
    }

    /// Takes what a client wrote behind the last output.
    fn grow(&mut self, source: &[Line], archive: &mut dyn Archive) -> Result<(), ApplyError> {
        let new = source.get(self.places.len()..).unwrap_or_default();
        let Some(version) = self.version.as_ref().filter(|_| !new.is_empty()) else { return Ok(()) };
        let under = Some(version.key());
        let whole: Vec<Line> = new.iter().map(|line| [text(line), b"\n"].concat()).collect();
        let digested: Vec<(Digest, &[u8])> = whole.iter().map(|line| (Digest::of(line), line.as_slice())).collect();
        let parent = self.state.key();
        self.state.lines.extend(archive.put_lines(&digested)?);
        self.state.runs.push(Run { n_lines: u32::try_from(new.len()).unwrap_or(u32::MAX), under, is_closing: false });
        for line in whole {
            self.places.push(u32::try_from(self.base.len()).ok());
            self.base.push(line);
        }
        self.state.sum = sum_of(&self.base).digest();
        self.state.parent = Some(parent);
        self.state.ends_line = new.last().is_some_and(|line| line.ends_with(b"\n"));
        archive.put_object(&self.state.object())?;
        Ok(())
    }

    /// Takes an operation over, with how its output was rendered.
    fn take(&mut self, done: &Done, archive: &mut dyn Archive) -> Result<(), ApplyError> {
        let Done { operation, source, output, pairs } = done;
        let mut places: Vec<Option<u32>> = vec![None; output.len()];
        let mut sources: HashMap<usize, usize> = HashMap::new();
        let mut edits = Vec::new();
        for (at, pair) in pairs.iter().enumerate() {
            let base = self.places.get(at).copied().flatten();
            match (*pair, base) {
                (Some(place), _) => {
                    sources.insert(place, at);
                    places.get_mut(place).into_iter().for_each(|slot| *slot = base);
                }
                (None, Some(base)) => edits.push(Edit::Drop(Address::Stored(LineNo(base)))),
                (None, None) => {}
            }
        }
        for (place, base) in places.iter().enumerate() {
            let (Some(base), Some(at)) = (base, sources.get(&place)) else { continue };
            let (Some(before), Some(after)) = (source.get(*at), output.get(place)) else { continue };
            edits.extend(self.changes(*base, before, after));
        }
        let (inserts, steps) = self.steps(&operation.id, output, &places);
        edits.extend(inserts);
        let edits = Edits { operation: operation.id.clone(), edits, ..Edits::default() };
        archive.put_object(&edits.object())?;
        let (mut operations, mut saved) = self.version.take().map(|it| (it.operations, it.saved)).unwrap_or_default();
        operations.push(operation.id.clone());
        saved += operation.tokens.map_or(0, |(before, after)| before.0.cast_signed() - after.0.cast_signed());
        let version = Version::new(self.state.key(), operations, steps, &sum_of(output), saved);
        archive.put_object(&version.object())?;
        (self.places, self.version) = (places, Some(version));
        Ok(())
    }

    /// What was changed in a line beyond what follows from other edits: what the model sees of it, and the copy for the
    /// screen.
    fn changes(&self, base: u32, before: &[u8], after: &[u8]) -> Vec<Edit> {
        let Some(stored) = self.base.get(base as usize) else { return Vec::new() };
        let (stored_scan, before_scan, after_scan) = (Scan::of(stored), Scan::of(before), Scan::of(after));
        let content = |scan: &Scan| scan.message.and_then(|message| message.content);
        let spans = [
            (content(&stored_scan), content(&before_scan), content(&after_scan), true),
            (stored_scan.tool_use_result, before_scan.tool_use_result, after_scan.tool_use_result, false),
        ];
        let edit = |(stored, old, new, is_seen): (Option<Span>, Option<Span>, Option<Span>, bool)| {
            let (stored, old, new) = (stored?, old?, new?);
            (old.of(before) != new.of(after)).then(|| Edit::Splice {
                line: Address::Stored(LineNo(base)),
                splice: Splice::new(stored, new.of(after)),
                is_seen,
            })
        };
        spans.into_iter().filter_map(edit).collect()
    }

    /// What was inserted, and how the output is rendered from the state.
    fn steps(&self, operation: &str, output: &[Line], places: &[Option<u32>]) -> (Vec<Edit>, Vec<Step>) {
        let n_stored = u32::try_from(self.base.len()).unwrap_or(u32::MAX);
        let mut inserts: Vec<Edit> = Vec::new();
        let mut steps = Vec::new();
        let (mut next, mut n_inserted) = (0_u32, 0_u32);
        for (at, line) in output.iter().enumerate() {
            let Some(base) = places.get(at).copied().flatten() else {
                let from = inserted(line);
                if from == Inserted::Derived || from == Inserted::Title {
                    steps.push(Step::Insert(from, text(line).to_vec()));
                    continue;
                }
                let behind = places.iter().skip(at).find_map(|place| *place).unwrap_or(n_stored);
                let before = Address::Stored(LineNo(behind));
                let own = String::from_utf8_lossy(text(line)).into_owned();
                match inserts.last_mut() {
                    Some(Edit::Insert { before: known, lines }) if *known == before => lines.push(own),
                    _ => inserts.push(Edit::Insert { before, lines: vec![own] }),
                }
                let from = Inserted::By { operation: operation.to_owned(), at: n_inserted, splices: Vec::new() };
                n_inserted += 1;
                steps.push(Step::Insert(from, text(line).to_vec()));
                continue;
            };
            if base > next {
                steps.push(Step::Drop(base - next));
            }
            let splices = self.base.get(base as usize).map(|stored| difference(stored, line)).unwrap_or_default();
            match (splices.is_empty(), steps.last_mut()) {
                (true, Some(Step::Keep(n))) if base == next => *n += 1,
                (true, _) => steps.push(Step::Keep(1)),
                (false, _) => steps.push(Step::Edit(splices)),
            }
            next = base + 1;
        }
        if n_stored > next {
            steps.push(Step::Drop(n_stored - next));
        }
        (inserts, steps)
    }
}

/// Where a line comes from that a source does not have.
fn inserted(line: &[u8]) -> Inserted {
    let scan = Scan::of(line);
    if scan.kind == Kind::CustomTitle && version::is_own_title(line) {
        return Inserted::Title;
    }
    let is_boundary = scan.is_compact_boundary(line) || scan.is_compact_summary;
    let id = scan.message.and_then(|message| message.id?.string(line));
    if !is_boundary || id.is_some_and(|id| id.starts_with(OWN_MESSAGE.as_bytes())) {
        return Inserted::Derived;
    }
    Inserted::By { operation: String::new(), at: 0, splices: Vec::new() }
}

/// The splices that make `line` of `stored`, the value of the session id aside.
fn difference(stored: &[u8], line: &[u8]) -> Vec<Splice> {
    let (stored, line) = (text(stored), text(line));
    let parts = |bytes: &[u8]| Scan::of(bytes).session_id.map(Span::range);
    match (parts(stored), parts(line)) {
        (Some(old), Some(new)) => {
            let mut splices = part_difference(stored, line, 0..old.start, 0..new.start);
            splices.extend(part_difference(stored, line, old.end..stored.len(), new.end..line.len()));
            splices
        }
        _ => part_difference(stored, line, 0..stored.len(), 0..line.len()),
    }
}

fn part_difference(
    stored: &[u8],
    line: &[u8],
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
) -> Vec<Splice> {
    let start = old.start;
    let (old, new) = (stored.get(old).unwrap_or_default(), line.get(new).unwrap_or_default());
    if old == new {
        return Vec::new();
    }
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let bytes = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    vec![Splice::new(Span::new(start + head, start + old.len() - tail), bytes)]
}
