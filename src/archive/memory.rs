//! The archive in memory: gone when it is dropped. For tests and for `memory:`.

use std::collections::HashMap;

use super::prefix::{self, AT_MOST};
use super::{Archive, ArchiveError, Operation, Original, Output, RecipeStep, StoredOriginal};
use crate::text::Digest;

/// An archive that lives as long as its value.
#[derive(Default)]
pub(super) struct Memory {
    committed: Records,
    deposit: Records,
    is_broken: bool,
}

/// What was put, oldest first.
#[derive(Default)]
struct Records {
    lines: HashMap<Digest, Vec<u8>>,
    originals: Vec<StoredOriginal>,
    /// How many of the originals wait for their operation no longer.
    n_settled: usize,
    operations: Vec<(Operation, Vec<RecipeStep>)>,
}

impl Records {
    /// The originals that `wanted` picks, newest first.
    fn newest_originals(&self, wanted: impl Fn(&StoredOriginal) -> bool) -> impl Iterator<Item = StoredOriginal> {
        self.originals.iter().rev().filter(move |original| wanted(original)).cloned()
    }
}

impl Memory {
    fn check_deposit(&self) -> Result<(), ArchiveError> {
        if self.is_broken { Err(ArchiveError::BrokenDeposit) } else { Ok(()) }
    }

    fn committed_operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        self.committed.operations.iter().map(|(operation, _)| operation)
    }
}

/// The last of `operations` that changed something, else the last of all.
fn newest<'a>(operations: impl DoubleEndedIterator<Item = &'a Operation> + Clone) -> Option<Operation> {
    let changing = operations.clone().rev().find(|operation| operation.source.digest != operation.output.digest);
    changing.or_else(|| operations.last()).cloned()
}

impl Archive for Memory {
    fn put_original(&mut self, original: &Original<'_>) -> Result<Digest, ArchiveError> {
        self.check_deposit()?;
        let digest = Digest::of(original.line);
        if !self.committed.lines.contains_key(&digest) {
            self.deposit.lines.entry(digest).or_insert_with(|| original.line.to_vec());
        }
        self.deposit.originals.push(StoredOriginal {
            digest,
            bytes: original.line.len() as u64,
            uuid: original.uuid.map(str::to_owned),
            replaced_by: original.replaced_by,
            operation: None,
        });
        Ok(digest)
    }

    fn put_operation(&mut self, operation: &Operation, recipe: &[RecipeStep]) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        let mut known = self.committed.operations.iter().chain(&self.deposit.operations);
        match known.find(|(known, _)| known.id == operation.id) {
            None => {
                let own = self.deposit.originals.iter_mut().skip(self.deposit.n_settled);
                own.for_each(|original| original.operation = Some(operation.id.clone()));
                self.deposit.n_settled = self.deposit.originals.len();
                self.deposit.operations.push((operation.clone(), recipe.to_vec()));
            }
            Some((known, known_recipe)) if known == operation && known_recipe == recipe => {}
            Some(_) => {
                self.is_broken = true;
                return Err(ArchiveError::DuplicateOperation { id: operation.id.clone() });
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        let Records { lines, originals, operations, n_settled: _ } = std::mem::take(&mut self.deposit);
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

    fn lines_by_prefix(&self, prefix: &str) -> Result<Vec<Digest>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let mut found: Vec<Digest> = self.committed.lines.keys().copied().filter(|it| range.contains(it)).collect();
        found.sort_unstable();
        found.truncate(AT_MOST);
        Ok(found)
    }

    fn originals_of(&self, uuid: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        Ok(self.committed.newest_originals(|original| original.uuid.as_deref() == Some(uuid)).collect())
    }

    fn originals_by_operation(&self, id: &str) -> Result<Vec<StoredOriginal>, ArchiveError> {
        let originals = self.committed.originals.iter();
        Ok(originals.filter(|original| original.operation.as_deref() == Some(id)).cloned().collect())
    }

    fn replaced_by(&self, line: Digest) -> Result<Option<StoredOriginal>, ArchiveError> {
        Ok(self.committed.newest_originals(|original| original.replaced_by == Some(line)).next())
    }

    fn operation(&self, id: &str) -> Result<Option<Operation>, ArchiveError> {
        let matching = || self.committed_operations().filter(|operation| operation.id.starts_with(id));
        let exact = matching().find(|operation| operation.id == id);
        prefix::only(id, exact.into_iter().chain(matching()).take(AT_MOST).cloned().collect())
    }

    fn operation_by_output(&self, output: Digest) -> Result<Option<Operation>, ArchiveError> {
        let operations: Vec<_> =
            self.committed_operations().filter(|operation| operation.output.digest == output).collect();
        Ok(newest(operations.into_iter()))
    }

    fn operation_before(&self, id: &str, output: Output<'_>) -> Result<Option<Operation>, ArchiveError> {
        let Some(end) = self.committed_operations().position(|operation| operation.id == id) else { return Ok(None) };
        let wrote_it = |operation: &&Operation| match output {
            Output::Digest(digest) => operation.output.digest == digest,
            Output::Beginning(path, at_most) => {
                operation.output.path.as_deref() == Some(path) && operation.output.bytes <= at_most
            }
        };
        let operations: Vec<_> = self.committed_operations().take(end).filter(wrote_it).collect();
        Ok(newest(operations.into_iter()))
    }

    fn operations(&self, session: &str) -> Result<Vec<Operation>, ArchiveError> {
        Ok(self.committed_operations().filter(|operation| operation.session == session).cloned().collect())
    }

    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError> {
        let found = self.committed.operations.iter().find(|(operation, _)| operation.id == id);
        Ok(found.map(|(_, recipe)| recipe.clone()))
    }
}
