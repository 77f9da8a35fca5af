//! The archive in memory: gone when it is dropped. For tests and for `memory:`.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Archive, ArchiveError, Operation, Original, StoredOriginal};
use crate::text::Digest;

/// An archive that lives as long as its value.
#[derive(Default)]
pub(super) struct Memory {
    committed: Records,
    deposit: Records,
    n_puts: u64,
    is_broken: bool,
}

/// What was put, oldest first.
#[derive(Default)]
struct Records {
    lines: HashMap<Digest, Vec<u8>>,
    /// Each original with the place of its last put among all puts.
    originals: HashMap<StoredOriginal, u64>,
    operations: Vec<Operation>,
}

impl Records {
    /// The originals that `wanted` picks, newest first.
    fn originals(&self, wanted: impl Fn(&StoredOriginal) -> bool) -> Vec<StoredOriginal> {
        let mut found: Vec<_> = self.originals.iter().filter(|(original, _)| wanted(original)).collect();
        found.sort_unstable_by_key(|(_, place)| Reverse(**place));
        found.into_iter().map(|(original, _)| original.clone()).collect()
    }
}

impl Memory {
    fn check_deposit(&self) -> Result<(), ArchiveError> {
        if self.is_broken { Err(ArchiveError::BrokenDeposit) } else { Ok(()) }
    }
}

impl Archive for Memory {
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.check_deposit()?;
        let digest = Digest::of(original.line);
        if !self.committed.lines.contains_key(&digest) {
            self.deposit.lines.entry(digest).or_insert_with(|| original.line.to_vec());
        }
        let stored = StoredOriginal {
            digest,
            bytes: original.line.len() as u64,
            uuid: original.uuid.map(str::to_owned),
            replaced_by: original.replaced_by,
        };
        self.n_puts += 1;
        self.deposit.originals.insert(stored, self.n_puts);
        Ok(digest)
    }

    fn put_operation(&mut self, operation: &Operation) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        let mut known = self.committed.operations.iter().chain(&self.deposit.operations);
        match known.find(|known| known.id == operation.id) {
            None => self.deposit.operations.push(operation.clone()),
            Some(known) if known == operation => {}
            Some(_) => {
                self.is_broken = true;
                return Err(ArchiveError::DuplicateOperation { id: operation.id.clone() });
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        let Records { lines, originals, operations } = std::mem::take(&mut self.deposit);
        self.committed.lines.extend(lines);
        self.committed.originals.extend(originals);
        self.committed.operations.extend(operations);
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        self.deposit = Records::default();
        self.is_broken = false;
        Ok(())
    }

    fn line(&self, digest: Digest) -> Result<Option<Vec<u8>>, ArchiveError> {
        Ok(self.committed.lines.get(&digest).cloned())
    }

    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        Ok(self.committed.originals(|original| original.uuid.as_deref() == Some(uuid)))
    }

    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError> {
        Ok(self.committed.originals(|original| original.replaced_by == Some(line)).into_iter().next())
    }

    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError> {
        let operations =
            || self.committed.operations.iter().rev().filter(|operation| operation.output.digest == output);
        let changing = operations().find(|operation| operation.source.digest != output);
        Ok(changing.or_else(|| operations().next()).cloned())
    }

    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError> {
        let operations = self.committed.operations.iter();
        Ok(operations.filter(|operation| operation.session == session).cloned().collect())
    }
}
