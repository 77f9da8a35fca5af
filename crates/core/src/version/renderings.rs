//! The keys and sums of the lines and versions of a state before and after a text is purged (N-12).

use std::collections::{BTreeMap, HashMap};

use super::key::Sum;
use super::{LineKey, State, Step, Version, VersionError, stand_in};
use ctxc_store::{Archive, LineId, Object};
use ctxc_transcript::edit::{Splice, render};

/// The keys of stored lines, as they were and as they are.
pub(super) struct Keys<'a> {
    all: HashMap<LineId, (LineKey, LineKey)>,
    masked: &'a BTreeMap<LineId, Vec<u8>>,
}

impl<'a> Keys<'a> {
    /// Those of lines of which some are `masked`.
    pub(super) fn new(masked: &'a BTreeMap<LineId, Vec<u8>>) -> Self {
        Self { all: HashMap::new(), masked }
    }

    pub(super) fn read(&mut self, archive: &dyn Archive, lines: &[LineId]) -> Result<(), VersionError> {
        let missing: Vec<LineId> = lines.iter().copied().filter(|line| !self.all.contains_key(line)).collect();
        archive.each_line(&missing, &mut |id, line| {
            let key = LineKey::scanned(line);
            let masked = self.masked.get(&id).map_or(key, |masked| LineKey::scanned(masked));
            self.all.insert(id, (key, masked));
            Ok(())
        })?;
        Ok(())
    }

    pub(super) fn of(&self, line: LineId) -> (LineKey, LineKey) {
        self.all.get(&line).copied().unwrap_or((LineKey::title(), LineKey::title()))
    }
}

/// The sums of lines with these keys, as they were and as they are.
pub(super) fn sums(keys: impl Iterator<Item = (LineKey, LineKey)> + Clone) -> (Sum, Sum) {
    (keys.clone().map(|(old, _)| old).collect(), keys.map(|(_, new)| new).collect())
}

/// The renderings of the versions of a state.
pub(super) struct Renderings<'a> {
    pub(super) archive: &'a dyn Archive,
    pub(super) state: &'a State,
    /// The torn line of the state as it is.
    pub(super) torn: &'a [u8],
    pub(super) keys: &'a Keys<'a>,
}

impl Renderings<'_> {
    /// The sums of the lines of `old` and of the same lines masked, which is `new`; with what stands in for those that were
    /// rendered and hold the text.
    pub(super) fn of(&self, old: &Version, new: &Version) -> Result<(Sum, Sum, Vec<Object>), VersionError> {
        let (mut keys, mut stand_ins) = (Vec::new(), Vec::new());
        let mut note = |old: &[u8], new: &[u8]| {
            stand_ins.extend(stand_in::object(old, new, None));
            (LineKey::scanned(old), LineKey::scanned(new))
        };
        let mut next = 0_usize;
        for (old, new) in old.steps.iter().zip(&new.steps) {
            match (old, new) {
                (Step::Keep(n), _) => {
                    keys.extend((next..next + *n as usize).map(|line| match self.state.lines.get(line) {
                        Some(line) => self.keys.of(*line),
                        None => (LineKey::scanned(&self.state.torn), LineKey::scanned(self.torn)),
                    }));
                    next += *n as usize;
                }
                (Step::Drop(n), _) => next += *n as usize,
                (Step::Edit(old), Step::Edit(new)) => {
                    let (old, new) = self.edited(next, old, new)?;
                    keys.push(note(&old, &new));
                    next += 1;
                }
                (Step::Insert(_, old), Step::Insert(_, new)) => keys.push(note(old, new)),
                (Step::Edit(_) | Step::Insert(..), _) => {}
            }
        }
        let (before, after) = sums(keys.into_iter());
        Ok((before, after, stand_ins))
    }

    /// The line at a place of the state as it was rendered, and as it is from now on.
    fn edited(&self, at: usize, old: &[Splice], new: &[Splice]) -> Result<(Vec<u8>, Vec<u8>), VersionError> {
        let mut lines = (self.state.torn.clone(), self.torn.to_vec());
        if let Some(id) = self.state.lines.get(at) {
            self.archive.each_line(&[*id], &mut |_, line| {
                lines = (line.to_vec(), self.keys.masked.get(id).cloned().unwrap_or_else(|| line.to_vec()));
                Ok(())
            })?;
        }
        let rendered = |line: &[u8], splices| render(line, splices).map_err(std::io::Error::other);
        Ok((rendered(&lines.0, old)?, rendered(&lines.1, new)?))
    }
}
