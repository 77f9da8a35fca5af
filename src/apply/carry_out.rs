//! The last steps of every rewriting verb: write, check, archive, swap (S-02, V-02, A-03).

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use jiff::Timestamp;

use super::check::check;
use super::difference::keep_difference;
use super::keeper::{Keeper, Kept};
use super::pass::{self, Written};
use super::problem::{Problem, new_problems};
use super::write::{Existing, Guard, Staged, back_up, copy_sidecar, discard, remove_sidecar, unnamed_file};
use super::{ApplyError, Rewrite};
use crate::archive::{Archive, FileRef, Operation, operation_id};
use crate::text::Tokens;
use crate::transcript::{Chain, Fingerprint, Index, LineSet, Totals};

/// For how long a file must have been left alone before it is replaced in place (S-03), in seconds.
const REST: u64 = 30;

/// Where the result goes.
pub enum Destination<'a> {
    /// A file of its own.
    File(&'a Path, Existing),
    /// A new session at this path, with the sidecar folder of the old one copied from the first to the second.
    NewSession {
        /// Where the session will stand.
        path: &'a Path,
        /// The folder of the old session.
        sidecar: &'a Path,
        /// The folder of the new one.
        new_sidecar: &'a Path,
    },
    /// The source itself; `Overwrite` leaves out the question whether it is at rest.
    InPlace(Existing),
    /// A stream that is written to once all is well.
    Stream(&'a mut dyn Write),
}

/// What is rewritten: the source as it was opened and indexed.
#[derive(Debug)]
pub struct Origin<'a> {
    /// The open file.
    pub file: &'a File,
    /// Where it is; nothing for a stream.
    pub path: Option<&'a Path>,
    /// What is written instead of it, where it is not the file itself that is edited.
    pub draft: Option<Draft<'a>>,
}

/// A transcript that was put together, to be written in the place of another.
#[derive(Debug)]
pub struct Draft<'a> {
    /// The open file of the draft. The index and the edits are about it.
    pub file: &'a File,
    /// What is known of the transcript whose place it takes.
    pub before: &'a Before,
}

/// What is known of a transcript before it is rewritten.
#[derive(Debug)]
pub struct Before {
    /// Its problems.
    pub problems: Vec<Problem>,
    /// The `chars4` tokens of its live chain.
    pub tokens: Tokens,
    /// What it was when it was read.
    pub fingerprint: Fingerprint,
}

impl Before {
    /// What is known of the transcript that `index` and `chain` are of.
    #[must_use]
    pub fn of(index: &Index, chain: &Chain) -> Self {
        let tokens = Totals::of(index, chain).context();
        Self { problems: check(index, chain), tokens, fingerprint: index.fingerprint }
    }
}

/// Who rewrites it, as the archive will tell.
#[derive(Clone, Debug)]
pub struct Errand<'a> {
    /// The verb.
    pub verb: &'static str,
    /// The command as it was given.
    pub command: String,
    /// The session, by which operations are listed.
    pub session: String,
    /// The time.
    pub now: Timestamp,
    /// Set when the work shall stop.
    pub stop: &'a AtomicBool,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    /// Where the result is; nothing for a stream.
    pub path: Option<PathBuf>,
    /// The copy of the source that was replaced in place.
    pub backup: Option<PathBuf>,
    /// Whether a sidecar folder was copied.
    pub copied_sidecar: bool,
    /// The length of the source in bytes.
    pub bytes_before: u64,
    /// The length of the result.
    pub bytes_after: u64,
    /// The id of the operation in the archive; none without an archive, and where a draft that takes the place of the
    /// source is what was there.
    pub operation: Option<String>,
    /// Whether the archive found that a draft came to what was there, so that the result is a copy.
    pub is_copy: bool,
    /// The problems that the result has, all of which the source has too.
    pub problems: Vec<Problem>,
}

/// Carries `rewrite` out. `index` tells of the source and, afterwards, of the result.
///
/// # Errors
/// When anything fails, nothing has changed: no output is there, and a source in place is as it was.
pub fn carry_out(
    origin: &Origin<'_>,
    index: &mut Index,
    rewrite: &Rewrite,
    archive: Option<&mut dyn Archive>,
    destination: Destination<'_>,
    errand: &Errand<'_>,
) -> Result<Done, ApplyError> {
    let chain = Chain::find(index);
    let own;
    let (file, before) = if let Some(Draft { file, before }) = &origin.draft {
        (*file, *before)
    } else {
        own = Before::of(index, &chain);
        (origin.file, &own)
    };
    let live = left_of(chain, rewrite);
    let guard = origin.path.map(|path| Guard::new(path, origin.file)).transpose()?;
    if let (Destination::InPlace(Existing::Respect), Some(guard)) = (&destination, &guard) {
        refuse_unless_at_rest(guard, origin.path, errand.now)?;
    }
    let mut stage = Stage::open(&destination, origin)?;
    let mut archive = archive;
    let mut keeper = Keeper::new(match &mut archive {
        Some(archive) if origin.draft.is_none() => Some(&mut **archive),
        _ => None,
    });
    let written = pass::write(file, index, rewrite, stage.file(), &mut keeper, errand.stop);
    let written = written.map_err(|error| stage.named(error))?;
    let (recipe, session_ids) = keeper.finish();
    let changed = || ApplyError::SourceChanged(origin.path.unwrap_or(Path::new("standard input")).to_owned());
    if written.fingerprint != index.fingerprint {
        return Err(changed());
    }
    let chain = Chain::find(index);
    if let Some(other) = live.first_difference(&chain.live) {
        return Err(ApplyError::OtherConversation(other.number()));
    }
    let left = check(index, &chain);
    let caused = new_problems(&before.problems, left.clone());
    if !caused.is_empty() {
        return Err(ApplyError::NewProblems(caused.iter().map(Problem::to_string).collect()));
    }
    stage.sync()?;
    let mut is_copy = false;
    let mut kept = written.digests.map(|(source, output)| Kept { recipe, session_ids, source, output });
    if let (Some(archive), Some(_)) = (&mut archive, &origin.draft) {
        let session = rewrite.session.as_ref().map(|session| session.id.as_str());
        let (difference, fingerprint) = keep_difference(origin.file, stage.file(), session, &mut **archive)?;
        if fingerprint != before.fingerprint {
            return Err(changed());
        }
        is_copy = difference.source == difference.output;
        // A draft that comes to what was there is no step of the way; but a copy in another place has to be known, for its
        // path is all that leads from what is made of it to what a client had added to.
        let is_elsewhere = match &destination {
            Destination::File(..) | Destination::NewSession { .. } => true,
            Destination::InPlace(_) | Destination::Stream(_) => false,
        };
        kept = Some(difference).filter(|_| !is_copy || is_elsewhere);
    }
    let mut operation = None;
    if let (Some(archive), Some(Kept { recipe, session_ids, source, output })) = (archive, kept) {
        let id = operation_id(errand.now, &errand.session, output, stage.target());
        let file_ref = |path: Option<&Path>, digest, bytes| FileRef { path: path.map(absolute), digest, bytes };
        let record = Operation {
            id: id.clone(),
            verb: errand.verb.to_owned(),
            command: errand.command.clone(),
            session: errand.session.clone(),
            time: errand.now,
            source: file_ref(origin.path, source, before.fingerprint.len),
            output: file_ref(stage.target(), output, written.len),
            session_ids,
            cuts: rewrite.cuts.values().flatten().cloned().collect(),
            tokens: Some((before.tokens, tokens_after(index, &chain, rewrite))),
            // What was done is known only once it is; the counts of the run are in its own report.
            report: None,
        };
        for record in &rewrite.records {
            archive.put_record(record).map_err(ApplyError::Archive)?;
        }
        archive.put_operation(&record, &recipe).and_then(|()| archive.commit()).map_err(ApplyError::Archive)?;
        operation = Some(id);
    }
    if let Some(guard) = &guard {
        guard.verify()?;
    }
    let Swapped { path, backup, copied_sidecar } = stage.swap(destination, origin, guard.as_ref())?;
    let Written { len: bytes_after, .. } = written;
    let bytes_before = before.fingerprint.len;
    Ok(Done { path, backup, copied_sidecar, bytes_before, bytes_after, operation, is_copy, problems: left })
}

/// The live lines that stay.
fn left_of(chain: Chain, rewrite: &Rewrite) -> LineSet {
    let mut live = chain.live;
    for line in rewrite.dropped.iter() {
        live.remove(line);
    }
    live
}

/// A path is asked for later, from other folders.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The `chars4` tokens of the result. Lines that come behind the last one are not in the index.
fn tokens_after(index: &Index, chain: &Chain, rewrite: &Rewrite) -> Tokens {
    let mut totals = Totals::of(index, chain);
    rewrite.appended.iter().for_each(|line| totals.add(line.as_bytes()));
    totals.context()
}

/// Whether a result could be written there now: what can be refused is refused before work that may cost time.
///
/// # Errors
/// As [`carry_out`] would end on account of its destination.
pub fn probe(origin: &Origin<'_>, destination: &Destination<'_>, now: Timestamp) -> Result<(), ApplyError> {
    let guard = origin.path.map(|path| Guard::new(path, origin.file)).transpose()?;
    if let (Destination::InPlace(Existing::Respect), Some(guard)) = (destination, &guard) {
        refuse_unless_at_rest(guard, origin.path, now)?;
    }
    Stage::open(destination, origin).map(drop)
}

pub(super) fn refuse_unless_at_rest(guard: &Guard, path: Option<&Path>, now: Timestamp) -> Result<(), ApplyError> {
    match guard.seconds_at_rest(SystemTime::from(now)) {
        Some(seconds) if seconds < REST => {
            Err(ApplyError::JustWritten(path.unwrap_or(Path::new("")).to_owned(), seconds))
        }
        // A time in the future says nothing of when the file was written.
        _ => Ok(()),
    }
}

/// The result before it has its place.
enum Stage {
    Beside(Staged),
    Unnamed(File),
}

struct Swapped {
    path: Option<PathBuf>,
    backup: Option<PathBuf>,
    copied_sidecar: bool,
}

impl Stage {
    fn open(destination: &Destination<'_>, origin: &Origin<'_>) -> Result<Self, ApplyError> {
        let permissions = match origin.path {
            Some(path) => Some(std::fs::metadata(path).map_err(ApplyError::Read)?.permissions()),
            None => None,
        };
        match (destination, origin.path) {
            (Destination::File(path, existing), _) => {
                if origin.path.is_some_and(|source| is_same_file(source, path)) {
                    return Err(ApplyError::IsSource((*path).to_owned()));
                }
                Staged::beside(path, *existing, permissions).map(Self::Beside)
            }
            (Destination::NewSession { path, .. }, _) => {
                Staged::beside(path, Existing::Respect, permissions).map(Self::Beside)
            }
            (Destination::InPlace(_), Some(path)) => {
                Staged::beside(path, Existing::Overwrite, permissions).map(Self::Beside)
            }
            (Destination::InPlace(_) | Destination::Stream(_), _) => unnamed_file().map(Self::Unnamed),
        }
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Beside(staged) => staged.file(),
            Self::Unnamed(file) => file,
        }
    }

    fn target(&self) -> Option<&Path> {
        match self {
            Self::Beside(staged) => Some(staged.target()),
            Self::Unnamed(_) => None,
        }
    }

    /// The error with the name of the file that could not be written, where it has one.
    fn named(&self, error: ApplyError) -> ApplyError {
        match (error, self.target()) {
            (ApplyError::WriteResult(error), Some(target)) => ApplyError::Write(target.to_owned(), error),
            (error, _) => error,
        }
    }

    fn sync(&self) -> Result<(), ApplyError> {
        match self {
            Self::Beside(staged) => staged.sync(),
            Self::Unnamed(_) => Ok(()),
        }
    }

    fn swap(
        self,
        destination: Destination<'_>,
        origin: &Origin<'_>,
        guard: Option<&Guard>,
    ) -> Result<Swapped, ApplyError> {
        let mut swapped = Swapped { path: None, backup: None, copied_sidecar: false };
        match (self, destination) {
            (Self::Beside(staged), Destination::InPlace(_)) => {
                swapped.backup = origin.path.map(|_| back_up(staged.target())).transpose()?;
                // The picker sorts by this time, and the client's own clean-up goes by it.
                if let Some(modified) = guard.and_then(Guard::modified) {
                    let target = staged.target().to_owned();
                    staged.set_modified(modified).map_err(|error| ApplyError::Write(target, error))?;
                }
                if let Some(Err(error)) = guard.map(Guard::verify) {
                    // Nothing was replaced, so the copy is of no use.
                    swapped.backup.iter().for_each(|backup| discard(backup));
                    return Err(error);
                }
                swapped.path = Some(staged.commit(Existing::Overwrite)?);
            }
            (Self::Beside(staged), Destination::NewSession { sidecar, new_sidecar, .. }) => {
                swapped.copied_sidecar = copy_sidecar(sidecar, new_sidecar)?;
                let committed = staged.commit(Existing::Respect);
                if committed.is_err() && swapped.copied_sidecar {
                    remove_sidecar(new_sidecar);
                }
                swapped.path = Some(committed?);
            }
            (Self::Beside(staged), Destination::File(_, existing)) => {
                swapped.path = Some(staged.commit(existing)?);
            }
            (Self::Unnamed(mut file), Destination::Stream(out)) => {
                file.rewind().map_err(ApplyError::WriteResult)?;
                io::copy(&mut file, out).map_err(ApplyError::WriteResult)?;
                out.flush().map_err(ApplyError::WriteResult)?;
            }
            // `open` makes no other pairs.
            (Self::Unnamed(_), _) | (Self::Beside(_), Destination::Stream(_)) => {}
        }
        Ok(swapped)
    }
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    match (std::fs::canonicalize(left), std::fs::canonicalize(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}
