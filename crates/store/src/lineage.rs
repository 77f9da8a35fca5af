//! The way that a transcript has come.

use std::collections::BTreeSet;

use super::{Archive, ArchiveError, Operation, Operations, Output};

/// `newest` and the operations that led to its source, newest first: each read what the next one wrote. Where a client
/// has added to a transcript before the next operation read it, its path and its length tell; the digest of the one's
/// output is not that of the other's source then.
///
/// # Errors
/// When the archive cannot be read, or what it holds is damaged.
pub fn lineage(archive: &dyn Archive, newest: &Operation) -> Result<Vec<Operation>, ArchiveError> {
    let mut lineage = vec![newest.clone()];
    // Each is older than the one before, so that this ends: a source that came back is no circle.
    while let Some(operation) = lineage.last()
        && let Some(parent) = parent(archive, operation)?
    {
        lineage.push(parent);
    }
    Ok(lineage)
}

fn parent(archive: &dyn Archive, operation: &Operation) -> Result<Option<Operation>, ArchiveError> {
    let source = &operation.source;
    let exact = archive.operations(Operations::Before(&operation.id, Output::Digest(source.digest)))?.pop();
    match (exact, &source.path) {
        (None, Some(path)) => {
            let before = Operations::Before(&operation.id, Output::Beginning(path, source.bytes));
            Ok(archive.operations(before)?.pop())
        }
        (exact, _) => Ok(exact),
    }
}

/// `sessions` and those that they were made out of, by `operations`, oldest first.
#[must_use]
pub fn ancestors(sessions: &[String], operations: &[Operation]) -> Vec<String> {
    let mut known: BTreeSet<&str> = sessions.iter().map(String::as_str).collect();
    for operation in operations.iter().rev() {
        if known.contains(operation.session.as_str()) {
            known.extend(operation.session_ids.iter().map(String::as_str));
        }
    }
    known.into_iter().map(str::to_owned).collect()
}
