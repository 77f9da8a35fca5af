//! A whole transcript brought back: to a place of its own, or to that of the result (P-05, S-03).

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use super::carry_out::{Errand, absolute, refuse_unless_at_rest};
use super::difference::keep_difference;
use super::write::{Existing, Guard, Staged, back_up};
use super::{ApplyError, undo, unnamed_file};
use crate::archive::{Archive, Cut, FileRef, Operation, operation_id};

/// Where it comes back to.
pub enum Home<'a> {
    /// A file of its own.
    File(&'a Path, Existing),
    /// The place of the result; `Overwrite` leaves out the question whether that is at rest.
    InPlace(&'a Path, Existing),
    /// A stream that is written to once all is well.
    Stream(&'a mut dyn Write),
}

/// What was brought back.
#[derive(Debug)]
pub struct BroughtBack {
    /// How many lines a client has added since, which stay behind it.
    pub n_appended: u64,
    /// The copy of the result that stood in its place.
    pub backup: Option<PathBuf>,
    /// The operation that was noted in the archive; nothing is lost where it could not be.
    pub noted: Result<String, ApplyError>,
}

/// What is brought back, and on whose behalf.
#[derive(Debug)]
pub struct WayBack<'a> {
    /// Where the result is; nothing for a stream.
    pub path: Option<&'a Path>,
    /// The operations that are taken back, newest first, the one that made the result before all.
    pub operations: &'a [Operation],
    /// The cuts that they take with them.
    pub cuts: Vec<Cut>,
    /// Who does it, as the archive will tell.
    pub errand: Errand<'a>,
}

/// Brings back what the transcript in `file` was before the last operation of `way`, and notes in the archive that this
/// was done.
///
/// # Errors
/// When it cannot be brought back, or has no place: then all is as it was.
pub fn bring_back(
    file: &mut File,
    way: &WayBack<'_>,
    archive: &mut dyn Archive,
    home: Home<'_>,
) -> Result<BroughtBack, ApplyError> {
    let permissions = way.path.and_then(|path| fs::metadata(path).ok()).map(|metadata| metadata.permissions());
    let (mut staged, existing, guard) = match home {
        Home::File(target, existing) => (Staged::beside(target, existing, permissions)?, existing, None),
        Home::InPlace(target, existing) => {
            let guard = Guard::new(target, file)?;
            if existing == Existing::Respect {
                refuse_unless_at_rest(&guard, Some(target), way.errand.now)?;
            }
            (Staged::beside(target, Existing::Overwrite, permissions)?, Existing::Overwrite, Some(guard))
        }
        Home::Stream(out) => {
            // Nothing is printed before all of it is known to be the source.
            let mut spool = unnamed_file()?;
            let n_appended = undo(file, way.operations, archive, &mut spool)?;
            let noted = note(file, way, &spool, None, archive);
            spool.rewind().map_err(ApplyError::WriteResult)?;
            io::copy(&mut spool, out).and_then(|_| out.flush()).map_err(ApplyError::WriteResult)?;
            return Ok(BroughtBack { n_appended, backup: None, noted });
        }
    };
    let n_appended = undo(file, way.operations, archive, staged.file())?;
    staged.sync()?;
    let target = staged.target().to_owned();
    let noted = note(file, way, staged.file(), Some(&target), archive);
    let backup = guard.is_some().then(|| back_up(&target)).transpose()?;
    if let Some(guard) = guard {
        guard.verify()?;
    }
    staged.commit(existing)?;
    Ok(BroughtBack { n_appended, backup, noted })
}

fn note(
    file: &File,
    way: &WayBack<'_>,
    output: &File,
    place: Option<&Path>,
    archive: &mut dyn Archive,
) -> Result<String, ApplyError> {
    let noted = put(file, way, output, place, archive);
    if noted.is_err() {
        // What is wrong with the archive is said by the error that there is.
        let _ = archive.rollback();
    }
    noted
}

fn put(
    file: &File,
    way: &WayBack<'_>,
    output: &File,
    place: Option<&Path>,
    archive: &mut dyn Archive,
) -> Result<String, ApplyError> {
    let WayBack { path, operations, cuts, errand } = way;
    let session = operations.iter().rev().find_map(|operation| operation.session_ids.first()).map(String::as_str);
    let (kept, fingerprint) = keep_difference(file, output, session, archive)?;
    let id = operation_id(errand.now, &errand.session, kept.output, place);
    let after = operations.last().and_then(|last| last.tokens).map(|(before, _)| before);
    let before = operations.first().and_then(|first| first.tokens).map(|(_, after)| after);
    let bytes = output.metadata().map_err(ApplyError::Read)?.len();
    let record = Operation {
        id: id.clone(),
        verb: errand.verb.to_owned(),
        command: errand.command.clone(),
        session: errand.session.clone(),
        time: errand.now,
        source: FileRef { path: path.map(absolute), digest: kept.source, bytes: fingerprint.len },
        output: FileRef { path: place.map(absolute), digest: kept.output, bytes },
        session_ids: kept.session_ids,
        cuts: cuts.clone(),
        tokens: before.zip(after),
        report: None,
    };
    archive.put_operation(&record, &kept.recipe).and_then(|()| archive.commit()).map_err(ApplyError::Archive)?;
    Ok(id)
}
