//! Which sessions the archive keeps, and the folders that belong to them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::VersionError;
use crate::archive::{Archive, Object, ObjectKind};
use crate::text::Digest;

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

/// Puts the files of `folder`, which belongs to the session called `id`, into the archive.
///
/// # Errors
/// When a file cannot be read, or the archive fails.
pub fn keep_sidecar(archive: &mut dyn Archive, id: &str, folder: &Path) -> Result<u64, VersionError> {
    let mut n_files = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let bytes = std::fs::read(entry.path())?;
                let path = entry.path();
                let relative = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
                let (lines, rest) = bytes.split_at(whole);
                let lines: Vec<(Digest, &[u8])> =
                    lines.split_inclusive(|byte| *byte == b'\n').map(|line| (Digest::of(line), line)).collect();
                let lines = if lines.is_empty() { Vec::new() } else { archive.put_lines(&lines)? };
                archive.put_object(&Object {
                    kind: ObjectKind::File,
                    key: Digest::of(format!("sidecar {id} {relative}").as_bytes()),
                    group: Some(group(id)),
                    head: relative.into_bytes(),
                    lines,
                    content: rest.to_vec(),
                })?;
                n_files += 1;
            }
        }
    }
    Ok(n_files)
}
