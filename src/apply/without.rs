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
use super::{ApplyError, OpenCut, Rewrite, open_cuts, undo, unnamed_file};
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
    let mut source = unnamed_file()?;
    undo(file, lineage.get(..=at).unwrap_or_default(), archive, &mut source)?;
    let old: HashSet<String> = lineage.iter().take(at + 1).flat_map(|it| it.session_ids.iter().cloned()).collect();
    let mut draft = Draft {
        file,
        index,
        session: session.map(|id| (id, old)),
        touched: later.iter().flat_map(|it| &it.cuts).map(|cut| (cut.uuid.clone(), cut.call.clone())).collect(),
        own: by_uuid(&own.cuts),
        out: unnamed_file()?,
        n_lines: 0,
        ends_whole: true,
        going: LineSet::default(),
        changed: LineSet::default(),
        restored: LineSet::default(),
        saved: 0,
    };
    draft.write(&source, &Trace::of(index, later, own, archive)?)?;
    let (cuts, kept) = turned(lineage, at, &draft.touched);
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
            let line = lines.get(&IdHash::of(cut.uuid.as_bytes())).copied().unwrap_or_default();
            rewrite.cuts.entry(line).or_default().push(cut.clone());
        }
        rewrite
    }
}

/// Where each line of the source went, and what else there is now.
struct Trace {
    /// By the lines of the source: where they are now, and whether the operation itself changed them or took them out.
    lines: Vec<(Went, bool)>,
    /// The lines that were added, by the line behind which they stand; those of the operation itself aside.
    added: HashMap<Option<u32>, Vec<u32>>,
}

impl Trace {
    fn of(index: &Index, later: &[Operation], own: &Operation, archive: &dyn Archive) -> Result<Self, ApplyError> {
        let recipe = |operation: &Operation| {
            archive.recipe(&operation.id).map_err(ApplyError::Archive)?.ok_or(ApplyError::NotTheSource)
        };
        let mut trace: Vec<Went> = (0..index.n_lines()).map(|line| Went::To { line, is_changed: false }).collect();
        for operation in later {
            trace = back(&step(&recipe(operation)?, trace.len()), &trace);
        }
        let step = step(&recipe(own)?, trace.len());
        let of_place = |place: &Option<(usize, bool)>| match *place {
            Some((at, is_changed)) => (trace.get(at).copied().unwrap_or(Went::Out), is_changed),
            None => (Went::Out, true),
        };
        let lines: Vec<(Went, bool)> = step.lines.iter().map(of_place).collect();
        let to = |went: &Went| if let Went::To { line, .. } = went { Some(*line) } else { None };
        let known: HashSet<u32> = lines.iter().filter_map(|(went, _)| to(went)).collect();
        // A title is none of what the operation did to the conversation.
        let is_title = |line: &u32| index.record(LineNo(*line)).kind == Kind::CustomTitle;
        let own: HashSet<u32> =
            step.additions.iter().filter_map(|at| trace.get(*at).and_then(to)).filter(|line| !is_title(line)).collect();
        let mut added: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
        let mut before = None;
        for line in 0..index.n_lines() {
            if known.contains(&line) {
                before = Some(line);
            } else if !own.contains(&line) {
                added.entry(before).or_default().push(line);
            }
        }
        Ok(Self { lines, added })
    }
}

/// The draft on its way.
struct Draft<'a> {
    file: &'a File,
    index: &'a Index,
    /// The session of the transcript, and those that gave way to it.
    session: Option<(&'a str, HashSet<String>)>,
    /// What later operations have cut or given back.
    touched: HashSet<(String, Option<String>)>,
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
    fn write(&mut self, mut source: &File, trace: &Trace) -> Result<(), ApplyError> {
        source.rewind().map_err(ApplyError::Read)?;
        let mut lines = LineReader::new(source);
        self.add(trace, None)?;
        for (went, is_own) in &trace.lines {
            let Some(was) = lines.next_line().map_err(ApplyError::Read)? else { return Err(ApplyError::NotTheSource) };
            let was = self.moved(was)?;
            let line = LineNo(self.n_lines);
            match *went {
                Went::To { line: now, is_changed: true } => {
                    let text = self.now(LineNo(now), &was, *is_own)?;
                    let scans = (Scan::of(&was), Scan::of(&text));
                    if essence(&scans.0, &was) != essence(&scans.1, &text) {
                        self.changed.insert(line);
                        self.saved += seen(&was) - seen(&text);
                    }
                    self.put(&text)?;
                }
                Went::To { .. } => {
                    if *is_own {
                        self.restored.insert(line);
                    }
                    self.put(&was)?;
                }
                Went::Out => {
                    if !is_own {
                        self.going.insert(line);
                    }
                    self.put(&was)?;
                }
            }
            if let Went::To { line, .. } = went {
                self.add(trace, Some(*line))?;
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

    /// The line `line` as it is now, hung where it was, and with what the operation had cut of it where nothing later
    /// has touched that.
    fn now(&self, line: LineNo, was: &[u8], is_own: bool) -> Result<Vec<u8>, ApplyError> {
        let mut buffer = Vec::new();
        let bytes = read_line(self.file, self.index, line, &mut buffer).map_err(ApplyError::Read)?;
        let scan = Scan::of(bytes);
        let original = Original::new(was.to_vec());
        let parent = original.scan().parent_uuid.map(|span| span.of(was).to_vec());
        let mut splices: Vec<Splice> =
            scan.parent_uuid.zip(parent).map(|(span, parent)| Splice::new(span, parent)).into_iter().collect();
        if is_own {
            splices.extend(self.grafts(Side { bytes, scan: &scan }, &original));
        }
        render(bytes, &splices).map_err(|overlap| ApplyError::Edit { line: line.number(), overlap })
    }

    fn grafts(&self, now: Side<'_>, original: &Original) -> Vec<Splice> {
        let uuid = now.scan.uuid.and_then(|span| span.string(now.bytes)).map(json_string::decode).unwrap_or_default();
        let is_free = |cut: &&Cut| !self.touched.contains(&(cut.uuid.clone(), cut.call.clone()));
        let cuts = || self.own.get(&*uuid).into_iter().flatten().filter(is_free);
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

fn by_uuid(cuts: &[Cut]) -> HashMap<String, Vec<Cut>> {
    let mut by_uuid: HashMap<String, Vec<Cut>> = HashMap::new();
    for cut in cuts {
        by_uuid.entry(cut.uuid.clone()).or_default().push(cut.clone());
    }
    by_uuid
}

/// The cuts that are open no more, or again, without the operation at `at`; and those that are cut again.
fn turned(lineage: &[Operation], at: usize, touched: &HashSet<(String, Option<String>)>) -> (Vec<Cut>, Vec<OpenCut>) {
    let key = |cut: &OpenCut| (cut.uuid.clone(), cut.call.clone());
    let others: Vec<Operation> =
        lineage.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, it)| it.clone()).collect();
    let (now, then) = (open_cuts(lineage), open_cuts(&others));
    let are_open: HashSet<_> = now.iter().map(key).collect();
    let will_be_open: HashSet<_> = then.iter().map(key).collect();
    let own = lineage.get(at).map(|it| by_uuid(&it.cuts)).unwrap_or_default();
    let is_own = |cut: &OpenCut| own.get(&cut.uuid).is_some_and(|cuts| cuts.iter().any(|it| it.call == cut.call));
    let kept = now.iter().filter(|cut| is_own(cut) && touched.contains(&key(cut))).cloned().collect();
    let noted = |cut: &OpenCut, rule: &str, before, after| Cut {
        uuid: cut.uuid.clone(),
        call: cut.call.clone(),
        name: cut.name.clone(),
        rule: rule.to_owned(),
        before,
        after,
    };
    let closed = now.iter().filter(|cut| !will_be_open.contains(&key(cut)));
    let closed = closed.map(|cut| noted(cut, Cut::RESTORE, cut.after, cut.before));
    let opened = then.iter().filter(|cut| !are_open.contains(&key(cut)));
    let opened = opened.map(|cut| noted(cut, &cut.rule, cut.before, cut.after));
    (closed.chain(opened).collect(), kept)
}
