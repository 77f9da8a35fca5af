//! The archive's trait on what is in memory.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use super::search;
use crate::archive::prefix::{self, AT_MOST};
use crate::archive::{
    Archive, ArchiveError, Cleanup, Contents, DocumentId, Dropped, EMBEDDED, Hit, Kind, Operation, Original, Output,
    Query, Reader, RecipeStep, Record, RecordFilter, StoredOriginal, Sweep, Vector,
};
use crate::text::Digest;

/// An archive that lives as long as its value.
#[derive(Default)]
pub(in crate::archive) struct Memory {
    committed: Held,
    deposit: Held,
    is_broken: bool,
    vectors: HashMap<String, HashMap<DocumentId, Option<Vector>>>,
}

/// What was put, oldest first.
#[derive(Clone, Default)]
struct Held {
    lines: HashMap<Digest, Vec<u8>>,
    originals: Vec<StoredOriginal>,
    /// How many of the originals wait for their operation no longer.
    n_settled: usize,
    operations: Vec<(Operation, Vec<RecipeStep>)>,
    records: Vec<Record>,
    /// What goes before the records come, of a deposit alone.
    dropped: Vec<DocumentId>,
}

impl Held {
    /// The originals that `wanted` picks, newest first.
    fn newest_originals(&self, wanted: impl Fn(&StoredOriginal) -> bool) -> impl Iterator<Item = StoredOriginal> {
        self.originals.iter().rev().filter(move |original| wanted(original)).cloned()
    }
}

impl Memory {
    fn check_deposit(&self) -> Result<(), ArchiveError> {
        if self.is_broken { Err(ArchiveError::BrokenDeposit) } else { Ok(()) }
    }

    /// All that has a text, oldest first: lines, then records.
    fn all_entries(&self, read: &Reader<'_>) -> Vec<Hit> {
        let Held { lines, originals, records, .. } = &self.committed;
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        for original in originals.iter().filter(|original| seen.insert(original.digest)) {
            let Some(document) = lines.get(&original.digest).and_then(|line| read(line)) else { continue };
            let newest = self.committed.newest_originals(|it| it.digest == original.digest);
            let operation = newest.into_iter().find_map(|it| it.operation);
            entries.push(Hit { id: DocumentId::Line(original.digest), document, operation });
        }
        let records = records.iter();
        entries.extend(records.map(|it| Hit { id: name(it), document: it.document.clone(), operation: None }));
        entries
    }

    fn committed_operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        self.committed.operations.iter().map(|(operation, _)| operation)
    }
}

fn name(record: &Record) -> DocumentId {
    DocumentId::Record(record.document.kind, record.key)
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

    fn put_record(&mut self, record: &Record) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        self.deposit.records.push(record.clone());
        Ok(())
    }

    fn drop_record(&mut self, kind: Kind, key: Digest) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        let dropped = DocumentId::Record(kind, key);
        self.deposit.records.retain(|record| name(record) != dropped);
        self.deposit.dropped.push(dropped);
        Ok(())
    }

    /// Nobody else can write: the archive belongs to who has it.
    fn claim(&mut self) -> Result<(), ArchiveError> {
        self.check_deposit()
    }

    fn commit(&mut self) -> Result<(), ArchiveError> {
        self.check_deposit()?;
        let Held { lines, originals, operations, records, dropped, n_settled: _ } = std::mem::take(&mut self.deposit);
        self.committed.lines.extend(lines);
        self.committed.originals.extend(originals);
        self.committed.operations.extend(operations);
        self.committed.records.retain(|known| !dropped.contains(&name(known)));
        for record in records {
            self.committed.records.retain(|known| name(known) != name(&record));
            self.vectors.values_mut().for_each(|vectors| drop(vectors.remove(&name(&record))));
            self.committed.records.push(record);
        }
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), ArchiveError> {
        self.deposit = Held::default();
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

    fn originals_of_line(&self, line: Digest) -> Result<Vec<StoredOriginal>, ArchiveError> {
        Ok(self.committed.newest_originals(|original| original.digest == line).collect())
    }

    fn loose_originals(&self) -> Result<Vec<StoredOriginal>, ArchiveError> {
        let originals = self.committed.originals.iter();
        Ok(originals.filter(|original| original.operation.is_none()).cloned().collect())
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

    fn operations_at(&self, path: &Path) -> Result<Vec<Operation>, ArchiveError> {
        let operations = self.committed_operations();
        Ok(operations.filter(|operation| operation.output.path.as_deref() == Some(path)).cloned().collect())
    }

    fn operation_ids(&self) -> Result<Vec<String>, ArchiveError> {
        Ok(self.committed_operations().map(|operation| operation.id.clone()).collect())
    }

    fn recipe(&self, id: &str) -> Result<Option<Vec<RecipeStep>>, ArchiveError> {
        let found = self.committed.operations.iter().find(|(operation, _)| operation.id == id);
        Ok(found.map(|(_, recipe)| recipe.clone()))
    }

    fn record(&self, kind: Kind, key: Digest) -> Result<Option<Record>, ArchiveError> {
        Ok(self.committed.records.iter().find(|record| name(record) == DocumentId::Record(kind, key)).cloned())
    }

    fn records(&self, filter: &RecordFilter<'_>) -> Result<Vec<Record>, ArchiveError> {
        let is_wanted = |record: &&Record| {
            let Record { document, .. } = record;
            filter.kind.is_none_or(|kind| document.kind == kind)
                && filter.session.is_none_or(|session| document.session.as_deref() == Some(session))
                && filter.speaker.is_none_or(|speaker| document.speaker.as_deref() == Some(speaker))
        };
        let wanted: Vec<Record> = self.committed.records.iter().filter(is_wanted).cloned().collect();
        let first = filter.last.map_or(0, |last| wanted.len().saturating_sub(last as usize));
        Ok(wanted.into_iter().skip(first).collect())
    }

    fn record_names(&self) -> Result<Vec<DocumentId>, ArchiveError> {
        Ok(self.committed.records.iter().map(name).collect())
    }

    fn records_by_prefix(&self, prefix: &str) -> Result<Vec<DocumentId>, ArchiveError> {
        let Some(range) = prefix::range(prefix) else { return Ok(Vec::new()) };
        let mut found: Vec<DocumentId> =
            self.committed.records.iter().filter(|record| range.contains(&record.key)).map(name).collect();
        found.sort_unstable_by_key(DocumentId::digest);
        found.truncate(AT_MOST);
        Ok(found)
    }

    /// There is no index: a search looks through all of it.
    fn index(
        &mut self,
        _read: &Reader<'_>,
        _progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), ArchiveError> {
        Ok(())
    }

    fn search(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        Ok(search::matching(&self.all_entries(read), query))
    }

    fn entries(&self, query: &Query<'_>, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        let newest = self.all_entries(read).into_iter().rev().filter(|entry| query.admits(&entry.document));
        Ok(newest.take(query.limit as usize).collect())
    }

    fn without_vector(&self, model: &str, limit: u32, read: &Reader<'_>) -> Result<Vec<Hit>, ArchiveError> {
        let known = self.vectors.get(model);
        let lacks =
            |hit: &Hit| EMBEDDED.contains(&hit.document.kind) && known.is_none_or(|known| !known.contains_key(&hit.id));
        Ok(self.all_entries(read).into_iter().rev().filter(lacks).take(limit as usize).collect())
    }

    fn put_vectors(&mut self, model: &str, vectors: &[(DocumentId, Option<Vector>)]) -> Result<(), ArchiveError> {
        let known = self.vectors.entry(model.to_owned()).or_default();
        let mut dimension = known.values().flatten().map(Vector::dimension).next();
        for vector in vectors.iter().filter_map(|(_, vector)| vector.as_ref()) {
            let known = *dimension.get_or_insert(vector.dimension());
            if known != vector.dimension() {
                let found = vector.dimension();
                return Err(ArchiveError::OtherDimension { model: model.to_owned(), found, known });
            }
        }
        known.extend(vectors.iter().cloned());
        Ok(())
    }

    fn nearest(
        &self,
        model: &str,
        vector: &Vector,
        query: &Query<'_>,
        read: &Reader<'_>,
    ) -> Result<Vec<Hit>, ArchiveError> {
        let Some(known) = self.vectors.get(model) else { return Ok(Vec::new()) };
        let mut found: Vec<(f32, Hit)> = self
            .all_entries(read)
            .into_iter()
            .rev()
            .filter(|hit| query.admits(&hit.document))
            .filter_map(|hit| Some((known.get(&hit.id)?.as_ref()?.likeness(vector), hit)))
            .filter(|(likeness, _)| *likeness > 0.0)
            .collect();
        found.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        Ok(found.into_iter().map(|(_, hit)| hit).take(query.limit as usize).collect())
    }

    fn contents(&self) -> Result<Contents, ArchiveError> {
        let Held { lines, originals, operations, records, .. } = &self.committed;
        Ok(Contents {
            operations: operations.len() as u64,
            originals: originals.len() as u64,
            lines: lines.len() as u64,
            line_bytes: lines.values().map(|line| line.len() as u64).sum(),
            records: records.len() as u64,
        })
    }

    fn sweep(&mut self, cleanup: &Cleanup, sweep: Sweep) -> Result<Dropped, ArchiveError> {
        let mut dropped = Dropped::default();
        let mut left = self.committed.clone();
        left.records.retain(|record| {
            let is_old = record.document.kind == Kind::Result
                && record.document.time.is_some_and(|time| time < cleanup.results_before);
            let is_expired = !is_old && record.expires.is_some_and(|expires| expires < cleanup.now);
            dropped.results += u64::from(is_old);
            dropped.expired += u64::from(is_expired);
            if is_old || is_expired {
                dropped.bytes += record.document.text.len() as u64;
            }
            !is_old && !is_expired
        });
        if let Some(before) = cleanup.originals_before {
            let operations = self.committed_operations().filter(|operation| operation.time < before);
            let old: HashSet<&str> = operations.map(|operation| operation.id.as_str()).collect();
            let is_old = |original: &StoredOriginal| original.operation.as_deref().is_some_and(|id| old.contains(id));
            let gone = left.originals.iter().filter(|original| is_old(original));
            dropped.operations = gone.filter_map(|it| it.operation.as_deref()).collect::<HashSet<_>>().len() as u64;
            left.originals.retain(|original| !is_old(original));
            dropped.originals = (self.committed.originals.len() - left.originals.len()) as u64;
        }
        let used: HashSet<Digest> = left.originals.iter().map(|original| original.digest).collect();
        left.lines.retain(|digest, line| {
            if !used.contains(digest) {
                dropped.lines += 1;
                dropped.bytes += line.len() as u64;
            }
            used.contains(digest)
        });
        if sweep == Sweep::Drop {
            self.committed = left;
        }
        Ok(dropped)
    }
}
