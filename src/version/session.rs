//! Which sessions the archive keeps, and the folders that belong to them.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::VersionError;
use super::putting::{PORTION, Putting};
use crate::archive::{Archive, Object, ObjectKind};
use crate::text::Digest;
use crate::transcript::LineReader;
use crate::transcript::session::{session_id, sidecar_dir};

/// A session that the archive keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSession {
    /// Its id.
    pub id: String,
    /// Where its file was.
    pub path: Option<PathBuf>,
    /// What the picker called it.
    pub title: String,
    /// The key of its newest state.
    pub state: String,
    /// The key of the version that its file is, where it is no source.
    pub version: Option<String>,
    /// When that was noted.
    pub time: Timestamp,
    /// How long the file was, in bytes.
    pub bytes: u64,
}

impl KeptSession {
    /// The object that the archive keeps.
    #[must_use]
    pub fn object(&self) -> Object {
        Object {
            kind: ObjectKind::Session,
            key: Digest::of(self.id.as_bytes()),
            group: None,
            head: Vec::new(),
            lines: Vec::new(),
            // Nothing in it that JSON cannot hold, but for a path that is not UTF-8, which is left out then.
            content: serde_json::to_vec(self)
                .or_else(|_| serde_json::to_vec(&Self { path: None, ..self.clone() }))
                .unwrap_or_default(),
        }
    }

    /// The session called `id`.
    ///
    /// # Errors
    /// When the archive cannot be read.
    pub fn read(archive: &dyn Archive, id: &str) -> Result<Option<Self>, VersionError> {
        let object = archive.object(ObjectKind::Session, Digest::of(id.as_bytes()))?;
        Ok(object.and_then(|object| serde_json::from_slice(&object.content).ok()))
    }
}

/// All sessions that the archive keeps, those first that were noted first.
///
/// # Errors
/// When the archive cannot be read.
pub fn kept_sessions(archive: &dyn Archive) -> Result<Vec<KeptSession>, VersionError> {
    let mut sessions = Vec::new();
    for (key, _) in archive.object_keys(ObjectKind::Session)? {
        let object = archive.object(ObjectKind::Session, key)?;
        sessions.extend(object.and_then(|object| serde_json::from_slice::<KeptSession>(&object.content).ok()));
    }
    Ok(sessions)
}

/// A file in the folder of a session: what a subagent wrote, or a long result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidecarFile {
    /// Where it is in the folder.
    pub path: PathBuf,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl SidecarFile {
    /// The files that the archive has of the folder of the session called `id`.
    ///
    /// # Errors
    /// When the archive cannot be read.
    pub fn read_all(archive: &dyn Archive, id: &str) -> Result<Vec<Self>, VersionError> {
        let mut files = Vec::new();
        for (key, head) in archive.objects_of(ObjectKind::File, group(id))? {
            let Some(object) = archive.object(ObjectKind::File, key)? else { continue };
            let mut bytes = Vec::new();
            archive.each_line(&object.lines, &mut |_, line| {
                bytes.extend_from_slice(line);
                Ok(())
            })?;
            bytes.extend_from_slice(&object.content);
            files.push(Self { path: PathBuf::from(String::from_utf8_lossy(&head).into_owned()), bytes });
        }
        Ok(files)
    }
}

fn group(id: &str) -> Digest {
    Digest::of(format!("sidecar {id}").as_bytes())
}

/// What was put of the folder of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sidecar {
    /// Files that were new, or had changed.
    pub n_files: u64,
    /// Their length in bytes.
    pub bytes: u64,
}

/// Puts the files of `folder`, which belongs to the session called `id`, into the archive, but for those that it has and
/// that were not written after `since`.
///
/// # Errors
/// When a file cannot be read, or the archive fails.
pub fn keep_sidecar(
    archive: &mut dyn Archive,
    id: &str,
    folder: &Path,
    since: Option<SystemTime>,
    stop: &AtomicBool,
) -> Result<Sidecar, VersionError> {
    let mut sidecar = Sidecar::default();
    let known: HashSet<Vec<u8>> =
        archive.objects_of(ObjectKind::File, group(id))?.into_iter().map(|(_, head)| head).collect();
    for path in sidecar_files(folder)? {
        let relative = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        let is_old = since.is_some_and(|since| std::fs::metadata(&path).is_ok_and(|it| is_before(&it, since)));
        if is_old && known.contains(relative.as_bytes()) {
            continue;
        }
        let mut lines = LineReader::new(File::open(&path)?);
        let mut rest = Vec::new();
        let mut putting = Putting::behind(Vec::new(), archive, PORTION, stop);
        while let Some(line) = lines.next_line()? {
            if line.ends_with(b"\n") {
                putting.add(line)?;
            } else {
                rest = line.to_vec();
            }
        }
        let (put, bytes) = putting.finish()?;
        sidecar.n_files += 1;
        sidecar.bytes += bytes + rest.len() as u64;
        let object = Object {
            kind: ObjectKind::File,
            key: Digest::of(format!("sidecar {id} {relative}").as_bytes()),
            group: Some(group(id)),
            head: relative.into_bytes(),
            lines: put.lines.clone(),
            content: rest,
        };
        put.name(archive, &object)?;
    }
    Ok(sidecar)
}

/// The files in the folder of a session. Where there is none there are none.
///
/// # Errors
/// When a file cannot be looked at.
fn sidecar_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether what was written last into a file was there at `time`. Some file systems tell times by two seconds.
fn is_before(metadata: &Metadata, time: SystemTime) -> bool {
    const GRAIN: Duration = Duration::from_secs(2);
    metadata.modified().is_ok_and(|modified| modified + GRAIN < time)
}

impl KeptSession {
    /// Whether a file at `path` with this `metadata`, of which the first `len` bytes are whole lines, and its folder are
    /// as they were when this was noted, as far as one look tells.
    #[must_use]
    pub fn is_current(&self, path: &Path, metadata: &Metadata, len: u64) -> bool {
        let noted = SystemTime::from(self.time);
        let is_old = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|metadata| is_before(&metadata, noted));
        let has_old_folder = || {
            let files = session_id(path).map_or_else(|| Ok(Vec::new()), |_| sidecar_files(&sidecar_dir(path)));
            files.is_ok_and(|files| files.iter().all(is_old))
        };
        self.path.as_deref() == Some(path) && self.bytes == len && is_before(metadata, noted) && has_old_folder()
    }
}
