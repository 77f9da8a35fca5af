//! Edits rendered: what becomes of the lines of a session by the operations that hold (N-02, N-03).
//!
//! Operations hold their own edits alone. This puts them together, whatever undid or followed what, and adds what the
//! structure of the conversation asks for: links around lines that are left out, and to those that were inserted. What
//! else follows (thinking, the recorded context size) is for [`follow_up`](fn@crate::apply::follow_up).

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;

use crate::apply::edit::rewrite::Rewrite;
use crate::apply::follow::follow_up::FirstChange;
use crate::apply::follow::pointers::uuid_of;
use crate::apply::follow::relink::relinks;
use crate::apply::follow::revived::{drop_revived, keep_healed};
use crate::apply::truncate::hang::{hang, hang_on, mend_tips};
use crate::version::{Active, Address, Edit, Group, History, Inserted, Layout, Run, Step, ThinkingPolicy, Version};
use ctxc_store::Cut;
use ctxc_transcript::edit::{Splice, render};
use ctxc_transcript::scan::{BlockKind, Scan};
use ctxc_transcript::text::{Digest, Tokens, json_string};
use ctxc_transcript::{Chain, Flags, IdHash, Index, LineNo, LineSet, Parent, Part, Transcript};
use ctxc_transcript::{context_tokens, measure, read_line, revisit};

/// A session with the operations of a history, to be written.
#[derive(Debug)]
pub struct Composed {
    /// The index of the base, as its lines are stored.
    pub index: Index,
    /// The live entries of the session and of what was inserted, those included that go.
    pub chain: Chain,
    /// The live entries of the session itself.
    pub stored: Chain,
    /// What is to change in the base.
    pub rewrite: Rewrite,
    /// What a client wrote behind earlier versions.
    pub runs: Vec<AppendedRun>,
    /// The session ids of what they wrote under others than that which is asked for. Once all else has followed.
    pub identities: Vec<(LineNo, Splice)>,
}

/// Lines that a client wrote behind a version.
#[derive(Clone, Debug)]
pub struct AppendedRun {
    /// The first of them.
    pub first: LineNo,
    /// The first line behind them.
    pub end: LineNo,
    /// The place in the chain of the first entry that is not what it was when they were written; `None` where all is.
    pub first_change: FirstChange,
    /// By how much what the model sees was smaller then than in the session itself, in `chars4` tokens.
    pub saved: i64,
}

/// The input of a rendering.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The lines, stored and inserted.
    pub file: &'a File,
    /// Which line stands where.
    pub layout: &'a Layout,
    /// Where the stored lines were read, in order.
    pub runs: &'a [Run],
    /// The versions that clients went on from, with their histories, by their keys.
    pub versions: &'a HashMap<Digest, (Version, History)>,
    /// The session id that lines get which clients wrote behind a version under another; none where all get it anyway.
    pub identity: Option<&'a str>,
}

/// Puts the operations of `history` together.
///
/// # Errors
/// When the base cannot be read.
pub fn composed(source: Source<'_>, history: &History) -> io::Result<Composed> {
    let Source { file, layout, .. } = source;
    let mut file_again = file;
    io::Seek::rewind(&mut file_again)?;
    let mut index = Index::build(file)?;
    let mut rewrite = Rewrite::default();
    let identities = adopt(source, &mut index, &mut rewrite)?;
    let stored = stored_chain(&index, layout);
    let active = history.active();
    take_edits(file, &index, &stored, layout, history, &active, &mut rewrite)?;
    let mut chain = with_inserted(&stored, layout);
    link(file, &index, &stored, layout, &mut rewrite)?;
    keep_healed(&stored, &mut rewrite);
    drop_revived(file, &index, &mut chain, layout, &mut rewrite)?;
    let runs = grown_runs(source, &index, &chain, history);
    Ok(Composed { index, chain, stored, rewrite, runs, identities })
}

/// Hangs what clients wrote behind inserted lines that are not there on what stood before those, and gives lines of
/// another session id that which is asked for.
fn adopt(source: Source<'_>, index: &mut Index, rewrite: &mut Rewrite) -> io::Result<Vec<(LineNo, Splice)>> {
    let Source { file, layout, runs, versions, identity } = source;
    let mut line = 0_u32;
    let mut buffer = Vec::new();
    let mut identities = Vec::new();
    // How many stored lines the session had whenever clients went on.
    let mut ends: Vec<u32> = Vec::new();
    for run in runs {
        let end = line.saturating_add(run.n_lines);
        let Some(version) = run.under.and_then(|key| versions.get(&key)) else {
            line = end;
            continue;
        };
        let stood = EarlierFile::of(&version.0);
        ends.push(stood.end);
        let place_of = |end: u32| layout.place(&Address::Stored(LineNo(end))).unwrap_or(LineNo(end));
        // What clients wrote behind a version before is not part of what it left out: they may have gone back to its end.
        let lasts: Vec<(LineNo, LineNo)> =
            ends.iter().filter_map(|end| Some((stood.last(*end, index, layout)?, place_of(*end)))).collect();
        for stored in (line..end).map(LineNo) {
            let Some(place) = layout.place(&Address::Stored(stored)) else { continue };
            if let Some(identity) = identity {
                let bytes = read_line(file, index, place, &mut buffer)?;
                let span = Scan::of(bytes).session_id;
                let differs = span.filter(|span| span.string(bytes) != Some(identity.as_bytes()));
                if let Some(span) = differs {
                    identities.push((place, Splice::new(span, json_string::encode(identity))));
                }
            }
            let parent = match index.record(place).parent() {
                Parent::At(parent) => Some(index.record(parent).uuid),
                Parent::Missing => {
                    let bytes = read_line(file, index, place, &mut buffer)?;
                    Scan::of(bytes).parent_uuid.and_then(|span| span.string(bytes)).map(IdHash::of)
                }
                Parent::Root => None,
            };
            // Behind an inserted line, and behind the last entry of the session, may stand again what was dropped there.
            let at = parent.and_then(|parent| stood.inserted.get(&parent));
            let chain = match (at, index.record(place).parent()) {
                (Some(at), _) => {
                    let end = stood.next(*at, index, layout).unwrap_or_else(|| place_of(stood.end));
                    Some(chain_before(index, end))
                }
                (None, Parent::At(parent)) => {
                    let last = lasts.iter().rfind(|(last, _)| *last == parent);
                    // A branch that was left goes on from where it was.
                    last.map(|(_, end)| chain_before(index, *end)).filter(|chain| chain.is_live(parent))
                }
                (None, Parent::Missing | Parent::Root) => None,
            };
            if let Some(heir) = chain.and_then(|chain| chain.lines.last().copied()) {
                rewrite.parents.insert(place, Some(heir));
                index.relink(place, Some(heir));
            }
        }
        line = end;
    }
    Ok(identities)
}

/// What stood where in a file that clients went on from.
struct EarlierFile {
    /// Before which stored line each line stood that was inserted, by its uuid.
    inserted: HashMap<IdHash, u32>,
    /// The stored lines that were there.
    kept: LineSet,
    /// How many stored lines the session had.
    end: u32,
}

impl EarlierFile {
    fn of(version: &Version) -> Self {
        let (mut at, mut inserted, mut kept) = (0, HashMap::new(), LineSet::default());
        for step in &version.steps {
            let n = match step {
                Step::Keep(n) => *n,
                Step::Edit(_) => 1,
                Step::Drop(n) => {
                    at += n;
                    continue;
                }
                Step::Insert(_, line) => {
                    inserted.extend(uuid_in(line).map(|uuid| (uuid, at)));
                    continue;
                }
            };
            for line in (at..at + n).map(LineNo) {
                kept.insert(line);
            }
            at += n;
        }
        Self { inserted, kept, end: at }
    }

    /// Where the first entry of the stored lines from `start` on stands that was there.
    fn next(&self, start: u32, index: &Index, layout: &Layout) -> Option<LineNo> {
        self.entries(start..self.end, index, layout).next()
    }

    /// Where the last entry of the first `end` stored lines stands that was there, if what stands behind it was left out.
    fn last(&self, end: u32, index: &Index, layout: &Layout) -> Option<LineNo> {
        let last = self.entries(0..end, index, layout).next_back()?;
        let is_behind = |line: &LineNo| layout.place(&Address::Stored(*line)).is_some_and(|place| place > last);
        let is_left_out = |line: LineNo| !self.kept.contains(line);
        (0..end).rev().map(LineNo).take_while(is_behind).any(is_left_out).then_some(last)
    }

    /// Where the entries of these stored lines stand that were there.
    fn entries(&self, lines: Range<u32>, index: &Index, layout: &Layout) -> impl DoubleEndedIterator<Item = LineNo> {
        let there = lines.map(LineNo).filter(|line| self.kept.contains(*line));
        there.filter_map(|line| layout.place(&Address::Stored(line))).filter(|place| {
            let record = index.record(*place);
            record.uuid != IdHash::NONE && !record.flags.any(Flags::SIDECHAIN)
        })
    }
}

fn uuid_in(line: &[u8]) -> Option<IdHash> {
    Scan::of(line).uuid.and_then(|span| span.string(line)).map(IdHash::of)
}

/// What a resume sends of the lines before `end`.
fn chain_before(index: &Index, end: LineNo) -> Chain {
    let mut before = index.clone();
    for line in index.lines().filter(|line| *line >= end) {
        before.drop_line(line);
    }
    Chain::find(&before)
}

/// The live chain of the session without what was inserted.
fn stored_chain(index: &Index, layout: &Layout) -> Chain {
    if layout.groups().is_empty() {
        return Chain::find(index);
    }
    Chain::find(&without_inserted(index, layout))
}

/// The index as it is without the lines that were inserted.
pub(in crate::apply) fn without_inserted(index: &Index, layout: &Layout) -> Index {
    let mut stored = index.clone();
    for line in layout.groups().iter().flat_map(Group::places) {
        stored.drop_line(line);
    }
    // What hangs on an inserted line hangs on what stands before that.
    let mut tips: HashMap<LineNo, Option<LineNo>> = HashMap::new();
    for line in index.lines().filter(|line| layout.inserted(*line).is_none()) {
        let Parent::At(parent) = index.record(line).parent() else { continue };
        if layout.inserted(parent).is_none() {
            continue;
        }
        let Some(group) = layout.groups().iter().find(|group| group.places().any(|it| it == parent)) else { continue };
        if let Some(heir) =
            *tips.entry(group.first).or_insert_with(|| chain_before(&stored, group.first).lines.last().copied())
        {
            stored.relink(line, Some(heir));
        }
    }
    stored
}

/// The chain with the inserted lines in it, each group before the first entry that stands behind it.
fn with_inserted(stored: &Chain, layout: &Layout) -> Chain {
    let mut chain = stored.clone();
    for group in layout.groups() {
        let at = chain.lines.iter().position(|line| *line >= group.first).unwrap_or(chain.lines.len());
        chain.lines.splice(at..at, group.places());
    }
    chain.live = chain.lines.iter().copied().collect();
    chain
}

/// Notes the edits that hold, and what they save.
fn take_edits(
    file: &File,
    index: &Index,
    stored: &Chain,
    layout: &Layout,
    history: &History,
    active: &[Active<'_>],
    rewrite: &mut Rewrite,
) -> io::Result<()> {
    let mut dropped = LineSet::default();
    for edit in active {
        if let Edit::Drop(address) = edit.edit
            && let Some(line) = layout.place(address)
        {
            dropped.insert(line);
        }
    }
    // Two compactions of the same messages come to the same entries, of which the last is meant.
    for line in layout.groups().iter().flat_map(Group::places) {
        if index.record(line).flags.any(Flags::SUPERSEDED) {
            dropped.insert(line);
        }
    }
    drop_thinking_of_dropped(index, stored, layout, &mut dropped);
    note_policies(layout, active, rewrite);
    let mut by_line: BTreeMap<LineNo, Vec<(Splice, bool)>> = BTreeMap::new();
    for (address, splices) in history.splices() {
        if let Some(line) = layout.place(&address).filter(|line| !dropped.contains(*line)) {
            by_line.insert(line, splices);
        }
    }
    let lines: LineSet = by_line.keys().copied().collect();
    let mut scan = Scan::default();
    revisit(file, index, &lines, |line, bytes| {
        let Some(splices) = by_line.get(&line) else { return io::Result::Ok(()) };
        let is_seen = splices.iter().any(|(_, is_seen)| *is_seen);
        let splices: Vec<Splice> = splices.iter().map(|(splice, _)| splice.clone()).collect();
        if is_seen {
            scan.read(bytes);
            note_cuts(&scan, bytes, line, &splices, rewrite);
            let rendered = render(bytes, &splices).map_err(io::Error::other)?;
            if stored.is_live(line) || layout.inserted(line).is_some() {
                rewrite.save(line, measured(bytes) - measured(&rendered));
            }
            rewrite.edit(line, splices);
        } else {
            rewrite.edit_unseen(line, splices);
        }
        Ok(())
    })?;
    for line in dropped.iter() {
        if stored.is_live(line) || layout.inserted(line).is_some() {
            rewrite.saved.insert(line, context_tokens(index, line).0.cast_signed());
        }
        rewrite.drop_line(line);
    }
    for line in layout.groups().iter().flat_map(Group::places) {
        rewrite.already_saved -= context_tokens(index, line).0.cast_signed();
        if !rewrite.dropped.contains(line) {
            rewrite.added.insert(line);
        }
    }
    Ok(())
}

/// Notes what becomes of thinking behind each line that is edited: what the strictest of its operations wants.
fn note_policies(layout: &Layout, active: &[Active<'_>], rewrite: &mut Rewrite) {
    for Active { operation, edit, .. } in active {
        let lines: Vec<LineNo> = match edit {
            Edit::Insert { .. } => {
                let own = layout.groups().iter().filter(|group| group.operation == operation.operation);
                own.flat_map(Group::places).collect()
            }
            Edit::Splice { is_seen: false, .. } => Vec::new(),
            Edit::Splice { line, .. } | Edit::Drop(line) => layout.place(line).into_iter().collect(),
        };
        for line in lines {
            let policy = rewrite.policies.entry(line).or_insert(operation.thinking);
            *policy = operation.thinking.min(*policy);
        }
    }
}

/// Lines of thinking alone go with the rest of their message, or where something is inserted between both, though they were
/// gone from the file when that was done.
fn drop_thinking_of_dropped(index: &Index, stored: &Chain, layout: &Layout, dropped: &mut LineSet) {
    let mut rest: Option<LineNo> = None;
    for &line in stored.lines.iter().rev().filter(|line| index.record(**line).is_message()) {
        let flags = index.record(line).flags;
        if !flags.any(Flags::THINKING) || flags.any(Flags::BEYOND_THINKING) {
            rest = Some(line);
        } else if let Some(rest) = rest
            && (dropped.contains(rest) || layout.groups().iter().any(|it| line < it.first && it.first < rest))
        {
            dropped.insert(line);
        }
    }
}

/// What the model sees of a line, thinking aside, in `chars4` tokens.
pub(in crate::apply) fn measured(line: &[u8]) -> i64 {
    let mut sum = Tokens::ZERO;
    measure(&Scan::of(line), line, |part, tokens| match part {
        Part::Thinking | Part::Signature => {}
        _ => sum += tokens,
    });
    sum.0.cast_signed()
}

/// Notes the calls of whose results something is replaced, as what stands in for them elsewhere in the file needs to know.
fn note_cuts(scan: &Scan, bytes: &[u8], line: LineNo, splices: &[Splice], rewrite: &mut Rewrite) {
    let results = scan.outer_blocks().filter(|block| block.kind == BlockKind::ToolResult);
    for block in results {
        let is_cut = block.span.is_some_and(|span| {
            splices.iter().any(|splice| splice.span.start >= span.start && splice.span.end <= span.end)
        });
        if is_cut {
            let call =
                block.tool_id.and_then(|span| span.string(bytes)).map(|raw| json_string::decode(raw).into_owned());
            let cut = Cut {
                uuid: String::new(),
                call,
                name: String::new(),
                rule: String::new(),
                before: Tokens::ZERO,
                after: Tokens::ZERO,
            };
            rewrite.cuts.entry(line).or_default().push(cut);
        }
    }
}

/// Links what is left: around what goes, and to what was inserted.
fn link(file: &File, index: &Index, stored: &Chain, layout: &Layout, rewrite: &mut Rewrite) -> io::Result<()> {
    let is_boundary = |line: LineNo| index.record(line).flags.any(Flags::COMPACT_BOUNDARY);
    let goes = stored.lines.iter().any(|line| rewrite.dropped.contains(*line));
    let left = || stored.lines.iter().copied().filter(|&line| !is_boundary(line));
    let first = left().find(|line| !rewrite.dropped.contains(*line));
    if let Some(first) = first.filter(|_| goes) {
        hang(Transcript { file, index, chain: stored }, first, None, rewrite)?;
        // What boundaries keep is linked in its order already.
        if index.preserved.is_empty() {
            bridge_gaps(index, stored, rewrite);
        }
    }
    let mut tip = None;
    // The summary of a group before.
    let mut earlier = None;
    for group in layout.groups().iter().filter(|group| is_boundary(group.first)) {
        let is_left = |other: &Group| other.places().any(|line| !rewrite.dropped.contains(line));
        let goes_on = layout.groups().iter().any(|other| other.first > group.first && is_left(other));
        if let Some(head) = link_group(index, stored, group, earlier, goes_on, rewrite) {
            tip = Some(uuid_of(file, index, head)?);
            earlier = Some(head);
        }
    }
    if goes {
        mend_tips(Transcript { file, index, chain: stored }, tip.as_deref(), rewrite)?;
    }
    Ok(())
}

/// Hangs what stands behind messages that go on the last live entry before them, and on nothing dead between.
fn bridge_gaps(index: &Index, stored: &Chain, rewrite: &mut Rewrite) {
    let mut before = None;
    let mut is_gap = false;
    for &line in &stored.lines {
        if rewrite.dropped.contains(line) {
            is_gap = true;
            continue;
        }
        if std::mem::take(&mut is_gap)
            && let (Some(before), Parent::At(parent)) = (before, index.record(line).parent())
            && rewrite.dropped.contains(parent)
        {
            hang_on(index, line, Some(before), rewrite);
        }
        before = Some(line);
    }
}

/// Links a summary and what stands behind it. A boundary in front of it ends the conversation there, so that it goes where
/// anything before it is left. Gives the entry that what stands behind hangs on, where it is a message.
fn link_group(
    index: &Index,
    stored: &Chain,
    group: &Group,
    earlier: Option<LineNo>,
    goes_on: bool,
    rewrite: &mut Rewrite,
) -> Option<LineNo> {
    let is_boundary = |line: LineNo| index.record(line).flags.any(Flags::COMPACT_BOUNDARY);
    let places: Vec<LineNo> = group.places().filter(|line| !rewrite.dropped.contains(*line)).collect();
    let (&head, &last) = places.first().zip(places.last())?;
    // A boundary without its summary is one only where no other group follows.
    if is_boundary(last) && goes_on {
        rewrite.drop_line(last);
        rewrite.added.remove(last);
        return None;
    }
    let (before, thinking) = before(index, stored, group.first, rewrite);
    if let Some(before) = before.max(earlier) {
        if is_boundary(head) {
            rewrite.drop_line(head);
            rewrite.added.remove(head);
        }
        if is_boundary(last) {
            return None;
        }
        rewrite.parents.insert(last, Some(before));
    } else {
        // What is left of messages that are summarized: an earlier change has taken it out already.
        for line in thinking {
            rewrite.save(line, context_tokens(index, line).0.cast_signed());
            rewrite.drop_line(line);
        }
    }
    let relinked = relinks(index, rewrite);
    let kept = stored.lines.iter().copied().filter(|line| *line > last && !rewrite.dropped.contains(*line));
    for (at, line) in kept.collect::<Vec<_>>().into_iter().enumerate() {
        let parent = match (relinked.get(&line), index.record(line).parent()) {
            (Some(parent), _) => *parent,
            (None, Parent::At(parent)) if at == 0 => Some(parent),
            (None, Parent::Root | Parent::Missing) if at == 0 => None,
            (None, _) => continue,
        };
        if parent.is_none_or(|parent| parent < group.first) {
            rewrite.parents.insert(line, Some(last));
        }
    }
    (!is_boundary(last)).then_some(last)
}

/// The last live entry before `line` that stays, and those that hold nothing but thinking.
fn before(index: &Index, stored: &Chain, line: LineNo, rewrite: &Rewrite) -> (Option<LineNo>, Vec<LineNo>) {
    let left = stored.lines.iter().copied().filter(|it| *it < line && !rewrite.dropped.contains(*it));
    let left = left.filter(|&it| !index.record(it).flags.any(Flags::COMPACT_BOUNDARY));
    let (thinking, others): (Vec<LineNo>, Vec<LineNo>) = left.partition(|&it| {
        let flags = index.record(it).flags;
        flags.any(Flags::THINKING) && !flags.any(Flags::BEYOND_THINKING)
    });
    (others.last().copied(), thinking)
}

/// What clients wrote behind versions, and how far what they read there still stands.
fn grown_runs(source: Source<'_>, index: &Index, chain: &Chain, history: &History) -> Vec<AppendedRun> {
    let Source { layout, versions, .. } = source;
    // Entries that stand in the file in another order than in the chain: the first place from which on a line is reached.
    let mut reached: Vec<LineNo> = Vec::with_capacity(chain.lines.len());
    for &line in &chain.lines {
        reached.push(reached.last().map_or(line, |last| line.max(*last)));
    }
    let place_in = |line: LineNo| reached.partition_point(|reached| *reached < line);
    let mut line = 0_u32;
    let mut runs = Vec::new();
    for run in source.runs {
        let first = line;
        line = line.saturating_add(run.n_lines);
        let Some((version, then_history)) = run.under.and_then(|key| versions.get(&key)) else { continue };
        // Thinking that comes back is a change, too.
        let comes_back = takes_all_thinking(then_history) && !takes_all_thinking(history);
        let thinking = chain.lines.iter().position(|line| index.record(*line).flags.any(Flags::THINKING));
        let thinking = thinking.filter(|_| comes_back);
        // What closed a tool loop is not there any more once somebody has gone on behind it.
        let closed = closed_at(version).and_then(|line| layout.place(&Address::Stored(line))).map(&place_in);
        let change = |strictest| {
            let now = seen_edits(history, strictest);
            let then = seen_edits(then_history, strictest);
            let differing = now
                .iter()
                .filter(|(key, _)| !then.contains_key(*key))
                .chain(then.iter().filter(|(key, _)| !now.contains_key(*key)))
                // What it inserted is not there any more.
                .map(|(_, address)| layout.place(address).map_or(0, &place_in));
            differing.chain(thinking).chain(closed).min()
        };
        let first_change = FirstChange::of(change);
        let place = |line: u32| layout.place(&Address::Stored(LineNo(line)));
        if let (Some(first), Some(last)) = (place(first), place(line.saturating_sub(1))) {
            runs.push(AppendedRun { first, end: LineNo(last.0 + 1), first_change, saved: version.saved });
        }
    }
    runs
}

fn takes_all_thinking(history: &History) -> bool {
    history.standing().any(|operation| operation.removes_all_thinking)
}

/// The stored line before which a version has messages that closed a tool loop, where it has any.
fn closed_at(version: &Version) -> Option<LineNo> {
    let mut n_stored = 0_u32;
    for step in &version.steps {
        match step {
            Step::Keep(n) | Step::Drop(n) => n_stored = n_stored.saturating_add(*n),
            Step::Edit(_) => n_stored = n_stored.saturating_add(1),
            Step::Insert(Inserted::Derived, line) if Scan::of(line).kind.is_message() => return Some(LineNo(n_stored)),
            Step::Insert(..) => {}
        }
    }
    None
}

/// The edits that hold and that the model sees the difference of, with the line that each is about: those of operations that
/// are at least as strict with thinking behind them as `strictest`.
fn seen_edits(history: &History, strictest: ThinkingPolicy) -> BTreeMap<(String, u32), Address> {
    let seen = history.active().into_iter().filter(|active| active.operation.thinking <= strictest);
    seen.filter(|active| !matches!(active.edit, Edit::Splice { is_seen: false, .. }))
        .map(|active| ((active.operation.operation.clone(), active.at), active.edit.line().clone()))
        .collect()
}
