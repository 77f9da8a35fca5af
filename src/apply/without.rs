//! A transcript as it would be without one operation of its past, what came after it left in place (P-05).
//!
//! The source of that operation is brought back. Lines that later operations changed are taken as they are now, with
//! the items put back that the operation had cut; lines that later operations took out stay away; what was added stays.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{Seek, Write};

use super::graft::{Original, Side, graft_call, graft_copy, graft_text};
use super::restore::with_session;
use super::trace::{Went, back, step};
use super::whole::{essence, seen};
use super::{ApplyError, OpenCut, Rewrite, open_cuts, turned, undo, unnamed_file};
use crate::archive::{Archive, Cut, Operation};
use crate::text::json_string;
use crate::transcript::edit::{Splice, render};
use crate::transcript::scan::{Kind, Scan};
use crate::transcript::{Chain, Flags, IdHash, Index, LineNo, LineReader, LineSet, Totals, read_line};

/// A transcript without one operation of its past.
#[derive(Debug)]
pub struct Without {
    /// The transcript, some lines of which are still to go.
    pub draft: File,
    /// The lines that later operations took out.
    going: LineSet,
    /// The lines that are not what they were before the operation.
    changed: LineSet,
    /// The lines that are what they were before the operation, and were not with it.
    restored: LineSet,
    /// What the lines that changed are smaller than they were before the operation, in `chars4` tokens.
    saved: i64,
    /// The cuts that are open no more, and those that are open again.
    pub cuts: Vec<Cut>,
    /// Items that the operation had cut and a later one has cut again: they stay as they are.
    pub kept: Vec<OpenCut>,
}

/// The transcript in `file`, which `index` is of and `lineage` led to, without the operation at `at` of it.
///
/// # Errors
/// When the file or the archive cannot be read, or an original is missing.
pub fn without(
    file: &mut File,
    index: &Index,
    lineage: &[Operation],
    at: usize,
    session: Option<&str>,
    archive: &dyn Archive,
) -> Result<Without, ApplyError> {
    let (later, own) = (lineage.get(..at).unwrap_or_default(), lineage.get(at));
    let own = own.ok_or(ApplyError::NotTheSource)?;
    let mut output = unnamed_file()?;
    undo(file, later, archive, &mut output)?;
    let mut source = unnamed_file()?;
    undo(&mut output, std::slice::from_ref(own), archive, &mut source)?;
    let old: HashSet<String> = lineage.iter().take(at + 1).flat_map(|it| it.session_ids.iter().cloned()).collect();
    let mut draft = Draft {
        file,
        index,
        session: session.map(|id| (id, old)),
        touched: later.iter().flat_map(|it| &it.cuts).map(|cut| (cut.uuid.clone(), cut.call.clone())).collect(),
        touched_entries: later.iter().flat_map(|it| &it.cuts).map(|cut| cut.uuid.clone()).collect(),
        own: by_uuid(&own.cuts),
        out: unnamed_file()?,
        n_lines: 0,
        ends_whole: true,
        going: LineSet::default(),
        changed: LineSet::default(),
        restored: LineSet::default(),
        saved: 0,
    };
    let trace = Trace::of(index, later, own, (&source, &output), archive)?;
    if let Some(by) = &trace.compacted
        && takes_out_messages(&source, &trace)?
    {
        return Err(ApplyError::CompactedSince { operation: own.id.clone(), by: by.clone() });
    }
    draft.write(&source, Lines::of(&output)?, &trace)?;
    let (cuts, kept) = without_cuts(lineage, at, &draft.touched);
    let Draft { out, going, changed, restored, saved, .. } = draft;
    Ok(Without { draft: out, going, changed, restored, saved, cuts, kept })
}

impl Without {
    /// What is to be done with the draft, which `index` and `chain` are of; `before` are the figures of the transcript
    /// whose place it takes.
    #[must_use]
    pub fn rewrite(&self, index: &Index, chain: &Chain, before: Totals) -> Rewrite {
        let mut rewrite = Rewrite::default();
        let mut dropped = 0;
        for line in self.going.iter() {
            let thinking = index.thinking_of(line).map_or(0, |thinking| thinking.text);
            if chain.is_live(line) {
                dropped += i64::from(index.record(line).tokens) + i64::from(thinking);
            }
            rewrite.drop_line(line);
        }
        for line in self.changed.iter().filter(|line| !self.going.contains(*line)) {
            rewrite.edit(line, []);
        }
        // The figure that the client will read tells of the transcript as it is now, or, on a line that is what it was
        // before the operation, as it was then.
        let is_measured = |line: &&LineNo| index.record(**line).flags.any(Flags::USAGE) && !self.going.contains(**line);
        let is_old = chain.lines.iter().rev().find(is_measured).is_some_and(|line| self.restored.contains(*line));
        let now = before.context().0.cast_signed() - Totals::of(index, chain).context().0.cast_signed();
        if let Some(&first) = chain.lines.first() {
            rewrite.save(first, dropped + if is_old { self.saved } else { now });
        }
        let lines = index.lines_of(self.cuts.iter().map(|cut| IdHash::of(cut.uuid.as_bytes())));
        for cut in &self.cuts {
            // What is not there comes back, if it does, as it was when it went.
            let line = lines.get(&IdHash::of(cut.uuid.as_bytes())).copied();
            let Some(line) = line.filter(|line| !self.going.contains(*line)) else { continue };
            rewrite.cuts.entry(line).or_default().push(cut.clone());
        }
        rewrite
    }
}

/// Where each line of the source went, and what else there is now.
struct Trace {
    lines: Vec<Passage>,
    /// The lines that were added, by the line behind which they stand; those of the operation itself aside.
    added: HashMap<Option<u32>, Vec<u32>>,
    /// The later operation that compacted the conversation, where it starts with that summary: what the operation took
    /// out of it would come back to where no resume looks for it.
    compacted: Option<String>,
    /// The entries that were added and stay.
    staying: HashSet<IdHash>,
}

/// The way of a line of the source.
#[derive(Clone, Copy)]
struct Passage {
    /// Its place in the output of the operation.
    output: Option<usize>,
    /// Whether the operation itself changed it or took it out.
    is_own: bool,
    /// Where it is now.
    now: Went,
}

impl Trace {
    fn of(
        index: &Index,
        later: &[Operation],
        own: &Operation,
        (source, output): (&File, &File),
        archive: &dyn Archive,
    ) -> Result<Self, ApplyError> {
        let recipe = |operation: &Operation| {
            archive.recipe(&operation.id).map_err(ApplyError::Archive)?.ok_or(ApplyError::NotTheSource)
        };
        let mut trace: Vec<Went> = (0..index.n_lines()).map(|line| Went::To { line, is_changed: false }).collect();
        let mut boundary = boundary_of(index);
        let mut compacted = None;
        for operation in later {
            let step = step(&recipe(operation)?, trace.len());
            if let Some(at) = boundary {
                if step.additions.contains(&at) {
                    compacted = Some(operation);
                }
                boundary = step.lines.iter().position(|place| place.is_some_and(|(output, _)| output == at));
            }
            trace = back(&step, &trace);
        }
        let step = step(&recipe(own)?, trace.len());
        let passage = |place: &Option<(usize, bool)>| match *place {
            Some((at, is_own)) => {
                Passage { output: Some(at), is_own, now: trace.get(at).copied().unwrap_or(Went::Out) }
            }
            None => Passage { output: None, is_own: true, now: Went::Out },
        };
        let mut lines: Vec<Passage> = step.lines.iter().map(passage).collect();
        let to = |went: &Went| if let Went::To { line, .. } = went { Some(*line) } else { None };
        let mut known: HashSet<u32> = lines.iter().filter_map(|passage| to(&passage.now)).collect();
        // What was taken out may have been brought back since.
        let others = (0..index.n_lines()).filter(|line| !known.contains(line));
        let others = others.map(|line| (index.record(LineNo(line)).uuid, line));
        let others: HashMap<IdHash, u32> = others.filter(|(uuid, _)| *uuid != IdHash::NONE).collect();
        let mut reader = Lines::of(source)?;
        for passage in lines.iter_mut().filter(|_| !others.is_empty()) {
            let Some(line) = reader.next_line()? else { break };
            let uuid = Scan::of(line).uuid.and_then(|span| span.string(line)).map(IdHash::of);
            if let (Went::Out, Some(&line)) = (passage.now, uuid.and_then(|uuid| others.get(&uuid))) {
                passage.now = Went::To { line, is_changed: true };
                known.insert(line);
            }
        }
        // The summary that it had added may have been taken out and brought back since.
        let additions: HashSet<usize> = step.additions.iter().copied().collect();
        let mut own_uuids = HashSet::new();
        let (mut reader, mut at) = (Lines::of(output)?, 0);
        while let Some(line) = reader.next_line()? {
            let scan = Scan::of(line);
            let is_summary = scan.is_compact_summary || scan.compact_metadata.is_some();
            if is_summary && additions.contains(&at) {
                own_uuids.extend(scan.uuid.and_then(|span| span.string(line)).map(IdHash::of));
            }
            at += 1;
        }
        let is_again = |line: &u32| own_uuids.contains(&index.record(LineNo(*line)).uuid);
        // A boundary that was only brought back is not new.
        let is_known = |line: usize| {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            is_again(&line) || known.contains(&line)
        };
        let compacted = compacted
            .filter(|by| by.verb != Cut::RESTORE || !boundary_of(index).is_some_and(is_known))
            .map(|by| by.id.clone());
        // A title is none of what the operation did to the conversation.
        let is_title = |line: &u32| index.record(LineNo(*line)).kind == Kind::CustomTitle;
        let own: HashSet<u32> =
            step.additions.iter().filter_map(|at| trace.get(*at).and_then(to)).filter(|line| !is_title(line)).collect();
        let mut added: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
        let mut before = None;
        for line in 0..index.n_lines() {
            if known.contains(&line) {
                before = Some(line);
            } else if !own.contains(&line) && !is_again(&line) {
                added.entry(before).or_default().push(line);
            }
        }
        let staying = added.values().flatten().map(|line| index.record(LineNo(*line)).uuid);
        let staying = staying.filter(|uuid| *uuid != IdHash::NONE).collect();
        Ok(Self { lines, added, compacted, staying })
    }
}

/// The boundary that the conversation starts with.
fn boundary_of(index: &Index) -> Option<usize> {
    let chain = Chain::find(index);
    let first = chain.lines.first().filter(|line| index.record(**line).flags.any(Flags::COMPACT_BOUNDARY))?;
    usize::try_from(first.0).ok()
}

/// Whether the operation took messages out of `source`.
fn takes_out_messages(source: &File, trace: &Trace) -> Result<bool, ApplyError> {
    let mut lines = Lines::of(source)?;
    for passage in &trace.lines {
        let line = lines.next_line()?.ok_or(ApplyError::NotTheSource)?;
        if passage.output.is_none() && Scan::of(line).kind.is_message() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What becomes of a line.
enum Now {
    /// It is as it was before the operation, its place aside.
    AsItWas(Vec<u8>),
    /// It is something else.
    Else(Vec<u8>),
}

/// The draft on its way.
struct Draft<'a> {
    file: &'a File,
    index: &'a Index,
    /// The session of the transcript, and those that gave way to it.
    session: Option<(&'a str, HashSet<String>)>,
    /// What later operations have cut or given back.
    touched: HashSet<(String, Option<String>)>,
    /// Its entries.
    touched_entries: HashSet<String>,
    /// What the operation cut or gave back, by its entry.
    own: HashMap<String, Vec<Cut>>,
    out: File,
    n_lines: u32,
    /// Whether what was written ends with a line end.
    ends_whole: bool,
    going: LineSet,
    changed: LineSet,
    restored: LineSet,
    saved: i64,
}

impl Draft<'_> {
    fn write(&mut self, source: &File, mut output: Lines<'_>, trace: &Trace) -> Result<(), ApplyError> {
        let mut lines = Lines::of(source)?;
        self.add(trace, None)?;
        for passage in &trace.lines {
            let was = self.moved(lines.next_line()?.ok_or(ApplyError::NotTheSource)?)?;
            let line = LineNo(self.n_lines);
            let now = match passage.now {
                Went::To { line, is_changed: true } => {
                    let between = passage.output.map(|at| output.line(at)).transpose()?.flatten();
                    let between = between.map(|between| self.moved(between)).transpose()?;
                    self.now(trace, LineNo(line), &was, (between.as_deref(), passage.is_own))?
                }
                Went::To { .. } | Went::Out => Now::AsItWas(was.clone()),
            };
            match (&now, passage.now) {
                (Now::Else(now), _) => {
                    let scans = (Scan::of(&was), Scan::of(now));
                    if essence(&scans.0, &was) != essence(&scans.1, now) {
                        self.changed.insert(line);
                        self.saved += seen(&was) - seen(now);
                    }
                }
                (Now::AsItWas(_), Went::To { .. }) if passage.is_own => drop(self.restored.insert(line)),
                (Now::AsItWas(_), Went::Out) if passage.output.is_some() => drop(self.going.insert(line)),
                (Now::AsItWas(_), _) => {}
            }
            let (Now::AsItWas(bytes) | Now::Else(bytes)) = now;
            self.put(&bytes)?;
            if let Went::To { line, .. } = passage.now {
                self.add(trace, Some(line))?;
            }
        }
        self.out.flush().map_err(ApplyError::WriteResult)
    }

    /// Writes what was added behind the line `behind` of the transcript as it is now.
    fn add(&mut self, trace: &Trace, behind: Option<u32>) -> Result<(), ApplyError> {
        for line in trace.added.get(&behind).into_iter().flatten() {
            let mut buffer = Vec::new();
            let text = read_line(self.file, self.index, LineNo(*line), &mut buffer).map_err(ApplyError::Read)?.to_vec();
            self.put(&text)?;
        }
        Ok(())
    }

    fn put(&mut self, line: &[u8]) -> Result<(), ApplyError> {
        self.n_lines += 1;
        // What came last may have no end, and does not come last any more.
        let end: &[u8] = if self.ends_whole { b"" } else { b"\n" };
        self.ends_whole = line.ends_with(b"\n");
        self.out.write_all(end).and_then(|()| self.out.write_all(line)).map_err(ApplyError::WriteResult)
    }

    /// A line of the source under the session of the transcript.
    fn moved(&self, line: &[u8]) -> Result<Vec<u8>, ApplyError> {
        let Some((id, old)) = &self.session else { return Ok(line.to_vec()) };
        let own = Scan::of(line).session_id.and_then(|span| std::str::from_utf8(span.string(line)?).ok());
        if own.is_some_and(|own| old.contains(own)) { with_session(line, id) } else { Ok(line.to_vec()) }
    }

    /// The line `line` as it is now, with what the operation had cut of it where nothing later has touched that; as it
    /// was before where it is what the operation had left, which is `between`. It hangs where it was, so that
    /// what goes is still part of the chain when it is found out what follows from that; but for a line that hangs
    /// on one that was added and stays.
    fn now(
        &self,
        trace: &Trace,
        line: LineNo,
        was: &[u8],
        (between, is_own): (Option<&[u8]>, bool),
    ) -> Result<Now, ApplyError> {
        let mut buffer = Vec::new();
        let bytes = read_line(self.file, self.index, line, &mut buffer).map_err(ApplyError::Read)?;
        let scan = Scan::of(bytes);
        let hung = |bytes: &[u8], scan: &Scan, parent: Vec<u8>, more: Vec<Splice>| {
            let own = scan.parent_uuid.map(|span| Splice::new(span, parent));
            let splices: Vec<Splice> = own.into_iter().chain(more).collect();
            render(bytes, &splices).map_err(|overlap| ApplyError::Edit { line: line.number(), overlap })
        };
        let now_on = scan.parent_uuid.and_then(|span| span.string(bytes)).map(IdHash::of);
        let is_on_newcomer = now_on.is_some_and(|parent| trace.staying.contains(&parent));
        let parent = parent_of(if is_on_newcomer { bytes } else { was });
        // What was given back and cut again may look as it did.
        let is_touched = self.touched_entries.contains(&uuid_of(&scan, bytes));
        if let Some(between) = between.filter(|_| !is_touched)
            && hung(bytes, &scan, parent_of(between), Vec::new())? == between
        {
            return hung(was, &Scan::of(was), parent, Vec::new()).map(Now::AsItWas);
        }
        let grafts = if is_own && between.is_some() {
            self.grafts(Side { bytes, scan: &scan }, &Original::new(was.to_vec()))
        } else {
            Vec::new()
        };
        hung(bytes, &scan, parent, grafts).map(Now::Else)
    }

    fn grafts(&self, now: Side<'_>, original: &Original) -> Vec<Splice> {
        let uuid = uuid_of(now.scan, now.bytes);
        let is_free = |cut: &&Cut| !self.touched.contains(&(cut.uuid.clone(), cut.call.clone()));
        let cuts = || self.own.get(&uuid).into_iter().flatten().filter(is_free);
        let mut calls = BTreeMap::new();
        let mut splices = Vec::new();
        for call in cuts().filter_map(|cut| cut.call.as_deref()) {
            if calls.contains_key(call) {
                continue;
            }
            if let Some(graft) = graft_call(now, original, call) {
                splices.extend(graft);
                calls.insert(call, original);
            }
        }
        if cuts().any(|cut| cut.call.is_none())
            && let Some(text) = graft_text(now, original, &calls)
        {
            splices = text;
        }
        splices.extend(graft_copy(now, original, &calls));
        splices
    }
}

fn uuid_of(scan: &Scan, line: &[u8]) -> String {
    let raw = scan.uuid.and_then(|span| span.string(line)).unwrap_or_default();
    json_string::decode(raw).into_owned()
}

/// The value of `parentUuid` as it stands in `line`.
fn parent_of(line: &[u8]) -> Vec<u8> {
    Scan::of(line).parent_uuid.map_or_else(|| b"null".to_vec(), |span| span.of(line).to_vec())
}

/// The lines of a file from its first one on.
struct Lines<'a> {
    reader: LineReader<&'a File>,
    n_read: usize,
}

impl<'a> Lines<'a> {
    fn of(mut file: &'a File) -> Result<Self, ApplyError> {
        file.rewind().map_err(ApplyError::Read)?;
        Ok(Self { reader: LineReader::new(file), n_read: 0 })
    }

    fn next_line(&mut self) -> Result<Option<&[u8]>, ApplyError> {
        self.n_read += 1;
        self.reader.next_line().map_err(ApplyError::Read)
    }

    /// The line at `at`, which has not been read yet.
    fn line(&mut self, at: usize) -> Result<Option<&[u8]>, ApplyError> {
        while self.n_read < at {
            self.next_line()?;
        }
        self.next_line()
    }
}

fn by_uuid(cuts: &[Cut]) -> HashMap<String, Vec<Cut>> {
    let mut by_uuid: HashMap<String, Vec<Cut>> = HashMap::new();
    for cut in cuts {
        by_uuid.entry(cut.uuid.clone()).or_default().push(cut.clone());
    }
    by_uuid
}

/// The cuts that are open no more, or again, without the operation at `at`; and those that are cut again.
fn without_cuts(
    lineage: &[Operation],
    at: usize,
    touched: &HashSet<(String, Option<String>)>,
) -> (Vec<Cut>, Vec<OpenCut>) {
    let others: Vec<Operation> =
        lineage.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, it)| it.clone()).collect();
    let now = open_cuts(lineage);
    let own = lineage.get(at).map(|it| by_uuid(&it.cuts)).unwrap_or_default();
    let is_own = |cut: &OpenCut| own.get(&cut.uuid).is_some_and(|cuts| cuts.iter().any(|it| it.call == cut.call));
    let is_touched = |cut: &OpenCut| touched.contains(&(cut.uuid.clone(), cut.call.clone()));
    let kept = now.iter().filter(|cut| is_own(cut) && is_touched(cut)).cloned().collect();
    (turned(&now, &open_cuts(&others)), kept)
}
