//! Compacting: what stands at the head of a conversation takes the place of its oldest messages, in the form of the
//! client's own compaction (F-08): a boundary at which a resume stops, and behind it a summary that only the model reads.
//!
//! The two entries are lines that the source does not have, so the result is a draft that is indexed anew: what follows
//! from the change, and further steps, see it as any transcript that a client has compacted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::sync::atomic::AtomicBool;

use super::boundary::{Boundary, entries};
use super::dependents::drop_dependents;
use super::follow_up::settle;
use super::hang::{hang, mend_tips};
use super::keeper::Keeper;
use super::rewrite::Insertion;
use super::write::unnamed_file;
use super::{ApplyError, Rewrite, Scope, pass};
use crate::archive::Cut;
use crate::text::Tokens;
use crate::transcript::{Chain, Flags, Index, LineNo, LineSet, context_tokens};

/// What takes the place of the oldest messages.
#[derive(Clone, Copy, Debug)]
pub struct Compaction<'a> {
    /// Which they are.
    pub scope: &'a Scope,
    /// What the summary says.
    pub view: &'a str,
    /// The size of the context before, as the boundary tells it.
    pub size: Tokens,
    /// What the archive calls the batches that the view is made of, in their order.
    pub batches: &'a [String],
}

/// A transcript whose oldest messages are compacted.
#[derive(Debug)]
pub struct Compacted {
    /// The transcript, in a file without a name.
    pub file: File,
    /// Its index.
    pub index: Index,
    /// Its live chain.
    pub chain: Chain,
    /// What is still to be done to it: nothing yet, but what is to follow from the compaction is noted there.
    pub rewrite: Rewrite,
}

/// Puts a boundary and a summary in the place of all live messages that `compaction` tells, of what `rewrite` leaves of
/// the transcript.
///
/// # Errors
/// When a file cannot be read or written, or what comes out is not what was meant.
pub fn compact(
    file: &File,
    index: &Index,
    chain: &Chain,
    compaction: &Compaction<'_>,
    mut rewrite: Rewrite,
    stop: &AtomicBool,
) -> Result<Compacted, ApplyError> {
    let Scope { first, kept, gone, .. } = compaction.scope;
    let oldest = gone.iter().copied().min().unwrap_or_default();
    let before = kept.iter().next().unwrap_or(LineNo(index.n_lines()));
    let Boundary { lines, uuid } = entries(file, index, chain, gone, compaction).map_err(ApplyError::Read)?;
    for &line in gone {
        rewrite.drop_line(line);
    }
    drop_dependents(index, chain, &(oldest..first.unwrap_or(before)), &mut rewrite);
    if let Some(first) = *first {
        hang(file, index, chain, first, None, &mut rewrite).map_err(ApplyError::Read)?;
        rewrite.parents.insert(first, None);
    }
    mend_tips(file, index, chain, Some(&uuid), &mut rewrite).map_err(ApplyError::Read)?;
    rewrite.inserted = Some(Insertion { before, lines: lines.to_vec(), uuid, heirs: kept.clone() });
    drafted(file, index, chain, kept, rewrite, stop)
}

/// The transcript with what `rewrite` does to it, for further steps.
///
/// # Errors
/// As [`compact`].
pub fn settled(
    file: &File,
    index: &Index,
    chain: &Chain,
    rewrite: Rewrite,
    stop: &AtomicBool,
) -> Result<Compacted, ApplyError> {
    let kept = chain.lines.iter().copied().filter(|line| !rewrite.dropped.contains(*line)).collect();
    drafted(file, index, chain, &kept, rewrite, stop)
}

/// Carries `rewrite` out in a file without a name, of whose live lines `kept` shall be left.
fn drafted(
    file: &File,
    index: &Index,
    chain: &Chain,
    kept: &LineSet,
    mut rewrite: Rewrite,
    stop: &AtomicBool,
) -> Result<Compacted, ApplyError> {
    let mut draft = Draft::write(file, index, &mut rewrite, stop)?;
    // What a boundary that goes has kept out of the conversation would be a part of it again.
    let revived: Vec<LineNo> = draft.live_lines().filter(|line| !kept.contains(*line)).collect();
    if !revived.is_empty() {
        for line in revived {
            rewrite.drop_line(line);
        }
        draft = Draft::write(file, index, &mut rewrite, stop)?;
    }
    let Draft { file: draft, index: drafted, chain: drafted_chain, places } = draft;
    let meant: LineSet =
        places.inserted.iter().copied().chain(kept.iter().filter_map(|line| places.of(line))).collect();
    if let Some(other) = meant.first_difference(&drafted_chain.live) {
        return Err(ApplyError::OtherConversation(other.number()));
    }
    let measured = measured(index, chain, kept) - measured(&drafted, &drafted_chain, &drafted_chain.live);
    let is_seen = |line: &LineNo| rewrite.is_seen(*line);
    let seen = kept.iter().filter(is_seen).filter_map(|line| places.of(line));
    let rewrite = Rewrite {
        added: places.inserted.iter().copied().chain(seen).collect(),
        already_saved: rewrite.already_saved + measured,
        cuts: moved(&rewrite, &places),
        records: rewrite.records,
        ..Rewrite::default()
    };
    Ok(Compacted { file: draft, index: drafted, chain: drafted_chain, rewrite })
}

/// A transcript with what a rewrite does to it.
struct Draft {
    file: File,
    index: Index,
    chain: Chain,
    places: Places,
}

impl Draft {
    fn write(file: &File, index: &Index, rewrite: &mut Rewrite, stop: &AtomicBool) -> Result<Self, ApplyError> {
        settle(file, index, rewrite).map_err(ApplyError::Read)?;
        let mut draft = unnamed_file()?;
        let mut written = index.clone();
        let pass = pass::write(file, &mut written, rewrite, &mut draft, &mut Keeper::new(None), stop)?;
        if pass.fingerprint != index.fingerprint {
            return Err(ApplyError::ChangedWhileRead);
        }
        draft.flush().and_then(|()| draft.rewind()).map_err(ApplyError::WriteResult)?;
        let drafted = Index::build(&draft).map_err(ApplyError::Read)?;
        let chain = Chain::find(&drafted);
        Ok(Self { file: draft, index: drafted, chain, places: Places::new(index, rewrite) })
    }

    /// The lines of the source that are live in the draft.
    fn live_lines(&self) -> impl Iterator<Item = LineNo> {
        let at = |line: &Option<LineNo>| line.is_some_and(|line| self.chain.is_live(line));
        (0u32..).zip(&self.places.lines).filter(move |(_, line)| at(line)).map(|(line, _)| LineNo(line))
    }
}

/// The `chars4` tokens that the last usage knows of, which a line of `kept` holds; what came behind it is not in its figure.
fn measured(index: &Index, chain: &Chain, kept: &LineSet) -> i64 {
    let has_usage = |line: &LineNo| kept.contains(*line) && index.record(*line).flags.any(Flags::USAGE);
    let Some(last) = chain.lines.iter().rposition(has_usage) else { return 0 };
    let tokens: Tokens = chain.lines.iter().take(last + 1).map(|&line| context_tokens(index, line)).sum();
    tokens.0.cast_signed()
}

/// Where the lines of the source are in the draft.
struct Places {
    /// By their numbers; nothing for those that went.
    lines: Vec<Option<LineNo>>,
    /// The lines that were inserted.
    inserted: Vec<LineNo>,
}

impl Places {
    fn new(index: &Index, rewrite: &Rewrite) -> Self {
        let mut next = LineNo(0);
        let mut places = Self { lines: Vec::with_capacity(index.records.len()), inserted: Vec::new() };
        // One more, for what comes behind the last line.
        for line in index.lines().chain([LineNo(index.n_lines())]) {
            for _ in rewrite.inserted.iter().filter(|inserted| inserted.before == line).flat_map(|it| &it.lines) {
                places.inserted.push(next);
                next.0 += 1;
            }
            let is_left = !rewrite.dropped.contains(line);
            places.lines.push(is_left.then_some(next));
            next.0 += u32::from(is_left);
        }
        places
    }

    fn of(&self, line: LineNo) -> Option<LineNo> {
        self.lines.get(line.idx()).copied().flatten()
    }
}

/// The cuts of what is left, at their places in the draft.
fn moved(rewrite: &Rewrite, places: &Places) -> BTreeMap<LineNo, Vec<Cut>> {
    rewrite.cuts.iter().filter_map(|(line, cuts)| Some((places.of(*line)?, cuts.clone()))).collect()
}
