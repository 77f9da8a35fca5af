//! Versions: how a file was rendered from the lines of a state.

use std::ops::Range;

use super::key::{SessionIds, Sum};
use super::pack::{Packer, Unpacker};
use super::state::{Head, Run, pack_head};
use super::title::title_in;
use super::{Address, VersionError};
use ctxc_store::{Archive, Object, ObjectKind};
use ctxc_transcript::edit::Splice;
use ctxc_transcript::scan::Scan;
use ctxc_transcript::text::Digest;
use ctxc_transcript::{LineNo, Totals};

/// The version of this form.
const FORM: u64 = 2;

/// The next lines of a version, from the lines of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many lines are as they are stored.
    Keep(u32),
    /// So many are left out.
    Drop(u32),
    /// The line has these splices, in the order of their places.
    Edit(Vec<Splice>),
    /// Here comes a line that the state does not have, without its end.
    Insert(Inserted, Vec<u8>),
}

/// The origin of a line that a state does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// An operation inserted it; which of its lines it is.
    By {
        /// The id of the operation.
        operation: String,
        /// The place among its lines, from 0.
        at: u32,
        /// Later changes to it, in the order of their places in the line as the operation has it.
        splices: Vec<Splice>,
    },
    /// It follows from the edits.
    Derived,
    /// It gives a new session a title.
    Title,
}

/// The rendering of a file. The archive keeps it, so that the file is recognised and rendered again as it was, whatever
/// later programs would make of the same edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The key of the state.
    pub state: Digest,
    /// The ids of its operations, oldest first.
    pub operations: Vec<String>,
    /// The steps for the lines of the state, in order.
    pub steps: Vec<Step>,
    /// The number of lines of the file.
    pub n_lines: u32,
    /// The digest of their keys.
    pub sum: Digest,
    /// Their session ids.
    pub session_ids: SessionIds,
    /// The session id that all its lines have; `None` where they have those of the lines of the state.
    pub session: Option<String>,
    /// The session id that all lines of the source had; `None` where they had several.
    pub source_session: Option<String>,
    /// Its group: the first line.
    pub group: Option<Digest>,
    /// By how much what the model sees is smaller than in the state, in `chars4` tokens without signatures.
    pub saved: i64,
}

/// A line of a rendered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered<'a> {
    /// The line of the session that it is; `None` for one that only follows from edits, or a title.
    pub address: Option<Address>,
    /// The changes to it.
    pub splices: &'a [Splice],
}

impl Version {
    /// The version of a state that was rendered by `steps` into lines with the keys of `sum`, under the session ids of the
    /// state.
    #[must_use]
    pub fn new(state: Digest, operations: Vec<String>, steps: Vec<Step>, sum: &Sum, saved: i64) -> Self {
        Self {
            state,
            operations,
            steps,
            n_lines: sum.n_lines(),
            sum: sum.digest(),
            session_ids: sum.session_ids(),
            session: None,
            source_session: None,
            group: sum.first().map(super::LineKey::group),
            saved,
        }
    }

    /// The same of which all lines have the session id `session`, where one is given, and those of the source `source`.
    #[must_use]
    pub fn with_sessions(self, session: Option<String>, source_session: Option<String>) -> Self {
        Self { session, source_session, ..self }
    }

    /// The title that ctxc gave the session, where it did.
    #[must_use]
    pub fn own_title(&self) -> Option<String> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Insert(Inserted::Title, line) => title_in(line),
            _ => None,
        })
    }

    /// The positions of the steps that closed an open tool loop. Only titles follow them: steps before a client's compaction
    /// closed a loop that the compaction left out.
    fn closing(&self) -> Range<usize> {
        let is_title = |step: &&Step| matches!(step, Step::Insert(Inserted::Title, _));
        let closes =
            |step: &&Step| matches!(step, Step::Insert(Inserted::Derived, line) if Scan::of(line).kind.is_message());
        let n_titles = self.steps.iter().rev().take_while(is_title).count();
        let end = self.steps.len().saturating_sub(n_titles);
        let n_closing = self.steps.iter().take(end).rev().take_while(closes).count();
        end - n_closing..end
    }

    /// The number of entries that closed an open tool loop.
    #[must_use]
    pub fn n_closing(&self) -> u32 {
        u32::try_from(self.closing().len()).unwrap_or(u32::MAX)
    }

    /// The lines of its file that closed an open tool loop.
    #[must_use]
    pub fn closing_lines(&self) -> Range<u32> {
        let n_titles = self.steps.len() - self.closing().end;
        let end = self.n_lines.saturating_sub(u32::try_from(n_titles).unwrap_or(u32::MAX));
        end.saturating_sub(self.n_closing())..end
    }

    /// The runs of `n_lines` that a client wrote behind it, after the entries by which it closed a loop.
    #[must_use]
    pub fn runs_behind(&self, n_lines: u32) -> [Run; 2] {
        let under = Some(self.key());
        let closing = Run { n_lines: self.n_closing(), under, is_closing: true };
        [closing, Run { n_lines, under, is_closing: false }]
    }

    /// By how much what the model sees is smaller than in the session that goes on from it, of which the entries that closed
    /// a loop are a part; in `chars4` tokens without signatures.
    #[must_use]
    pub fn saved_going_on(&self) -> i64 {
        let mut closing = Totals::default();
        for step in self.steps.get(self.closing()).unwrap_or_default() {
            if let Step::Insert(_, line) = step {
                closing.add(line);
            }
        }
        self.saved + closing.messages.0.cast_signed()
    }

    /// The steps of a session that goes on from it: the entries that closed an open tool loop are lines of the session.
    #[must_use]
    pub fn steps_going_on(&self) -> Vec<Step> {
        let closing = self.closing();
        let step = |(at, step): (usize, &Step)| if closing.contains(&at) { Step::Keep(1) } else { step.clone() };
        self.steps.iter().enumerate().map(step).collect()
    }

    /// Whether it is the state as it is.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Keep(_)))
    }

    /// The key of the version, the same in any archive.
    #[must_use]
    pub fn key(&self) -> Digest {
        Digest::of(&self.content())
    }

    /// The lines of the file, in order.
    pub fn rendered(&self) -> impl Iterator<Item = Rendered<'_>> {
        let mut next = 0_u32;
        self.steps.iter().flat_map(move |step| {
            let first = next;
            let stored = |line| Some(Address::Stored(LineNo(line)));
            let lines: Vec<Rendered<'_>> = match step {
                Step::Keep(n) => {
                    next = next.saturating_add(*n);
                    (first..next).map(|line| Rendered { address: stored(line), splices: &[] }).collect()
                }
                Step::Drop(n) => {
                    next = next.saturating_add(*n);
                    Vec::new()
                }
                Step::Edit(splices) => {
                    next = next.saturating_add(1);
                    vec![Rendered { address: stored(first), splices }]
                }
                Step::Insert(Inserted::By { operation, at, splices }, _) => {
                    let address = Address::Inserted { operation: operation.clone(), at: *at };
                    vec![Rendered { address: Some(address), splices }]
                }
                Step::Insert(Inserted::Derived | Inserted::Title, _) => {
                    vec![Rendered { address: None, splices: &[] }]
                }
            };
            lines
        })
    }

    /// The object that the archive keeps.
    #[must_use]
    pub fn object(&self) -> Object {
        let mut head = Packer::default();
        pack_head(&mut head, self.n_lines.into(), self.sum, self.session_ids);
        head.number(self.operations.len() as u64);
        Object {
            kind: ObjectKind::Version,
            key: self.key(),
            group: self.group,
            head: head.0,
            lines: Vec::new(),
            content: self.content(),
        }
    }

    fn content(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        packer.number(FORM);
        packer.digest(self.state);
        packer.optional_digest(self.group);
        packer.number(self.n_lines.into());
        packer.digest(self.sum);
        packer.number(self.session_ids.as_number());
        packer.optional_text(self.session.as_deref());
        packer.optional_text(self.source_session.as_deref());
        packer.signed(self.saved);
        packer.number(self.operations.len() as u64);
        self.operations.iter().for_each(|id| packer.text(id));
        packer.number(self.steps.len() as u64);
        self.steps.iter().for_each(|step| pack_step(&mut packer, step));
        packer.0
    }

    /// The version with this key.
    ///
    /// # Errors
    /// When the archive cannot be read, or has none.
    pub fn read(archive: &dyn Archive, key: Digest) -> Result<Self, VersionError> {
        let object = archive.object(ObjectKind::Version, key)?;
        let object = object.ok_or_else(|| VersionError::Missing { what: "the version", key: key.to_string() })?;
        let version = Self::unpack(&object.content)
            .ok_or_else(|| VersionError::Unknown { what: "the version", key: key.to_string() })?;
        if version.key() == key && Head::unpack(&object.head).is_some() {
            Ok(version)
        } else {
            Err(VersionError::NotWhatWasKept(key))
        }
    }

    pub(super) fn unpack(content: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker(content);
        if unpacker.number()? != FORM {
            return None;
        }
        let state = unpacker.digest()?;
        let group = unpacker.optional_digest()?;
        let n_lines = unpacker.small()?;
        let sum = unpacker.digest()?;
        let session_ids = SessionIds::from_number(unpacker.number()?);
        let (session, source_session) = (unpacker.optional_text()?, unpacker.optional_text()?);
        let saved = unpacker.signed()?;
        let operations = unpacker.list(Unpacker::text)?;
        let steps = unpacker.list(unpack_step)?;
        unpacker.is_empty().then_some(Self {
            state,
            operations,
            steps,
            n_lines,
            sum,
            session_ids,
            session,
            source_session,
            group,
            saved,
        })
    }
}

fn pack_step(packer: &mut Packer, step: &Step) {
    match step {
        Step::Keep(n) => {
            packer.number(0);
            packer.number((*n).into());
        }
        Step::Drop(n) => {
            packer.number(1);
            packer.number((*n).into());
        }
        Step::Edit(splices) => {
            packer.number(2);
            pack_splices(packer, splices);
        }
        Step::Insert(from, line) => {
            match from {
                Inserted::By { operation, at, splices } => {
                    packer.number(if splices.is_empty() { 3 } else { 6 });
                    packer.text(operation);
                    packer.number((*at).into());
                    if !splices.is_empty() {
                        pack_splices(packer, splices);
                    }
                }
                Inserted::Derived => packer.number(4),
                Inserted::Title => packer.number(5),
            }
            packer.bytes(line);
        }
    }
}

fn pack_splices(packer: &mut Packer, splices: &[Splice]) {
    packer.number(splices.len() as u64);
    for splice in splices {
        packer.splice(splice);
    }
}

fn unpack_step(unpacker: &mut Unpacker<'_>) -> Option<Step> {
    Some(match unpacker.number()? {
        0 => Step::Keep(unpacker.small()?),
        1 => Step::Drop(unpacker.small()?),
        2 => Step::Edit(unpacker.list(Unpacker::splice)?),
        form @ (3 | 6) => {
            let (operation, at) = (unpacker.text()?, unpacker.small()?);
            let splices = if form == 6 { unpacker.list(Unpacker::splice)? } else { Vec::new() };
            Step::Insert(Inserted::By { operation, at, splices }, unpacker.bytes()?)
        }
        4 => Step::Insert(Inserted::Derived, unpacker.bytes()?),
        5 => Step::Insert(Inserted::Title, unpacker.bytes()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxc_transcript::Span;
    use proptest::prelude::*;

    fn splices(list: &[(usize, usize, &str)]) -> Vec<Splice> {
        list.iter().map(|&(start, end, bytes)| Splice::new(Span::new(start, end), bytes)).collect()
    }

    proptest! {
        #[test]
        fn n_02_bytes_that_are_no_version_are_no_panic(bytes in any::<Vec<u8>>()) {
            let _ = Version::unpack(&bytes);
        }
    }

    #[test]
    fn n_02_a_version_reads_back() {
        let steps = vec![
            Step::Keep(3),
            Step::Drop(2),
            Step::Edit(splices(&[(0, 2, "x"), (9, 9, "")])),
            Step::Insert(Inserted::By { operation: "o".to_owned(), at: 1, splices: Vec::new() }, b"{}".to_vec()),
            Step::Insert(
                Inserted::By { operation: "o".to_owned(), at: 2, splices: splices(&[(1, 1, "x")]) },
                b"{x}".to_vec(),
            ),
            Step::Insert(Inserted::Derived, vec![0xFF]),
            Step::Insert(Inserted::Title, Vec::new()),
        ];
        let sum: Sum = [super::super::LineKey::title()].into_iter().collect();
        let version = Version::new(Digest::of(b"s"), vec!["a".to_owned()], steps, &sum, -5);
        assert_eq!(Version::unpack(&version.content()), Some(version.clone()));
        let addresses: Vec<_> = version.rendered().map(|it| it.address).collect();
        let stored = |line| Some(Address::Stored(LineNo(line)));
        let by = |at| Some(Address::Inserted { operation: "o".to_owned(), at });
        assert_eq!(addresses, [stored(0), stored(1), stored(2), stored(5), by(1), by(2), None, None]);
        assert_eq!(version.rendered().nth(5).unwrap().splices.len(), 1);
    }
}
