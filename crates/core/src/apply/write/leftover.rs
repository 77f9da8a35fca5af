//! Temporary files, and those that killed commands left.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

/// The prefix of the names of temporary files.
const PREFIX: &str = ".ctxc-";
/// Their suffix.
const SUFFIX: &str = ".tmp";
/// A younger one may belong to a run that has not locked it yet.
const LEAST_AGE: Duration = Duration::from_secs(60);

/// A temporary file in `folder` that its owner alone can read, whose lock says that it is in use. Those that killed runs
/// left there are removed.
pub(in crate::apply) fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let temporary = Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder)?;
    // None is removed on a file system without locks.
    let is_locked = temporary.as_file().try_lock().is_ok();
    if let Some(now) = temporary.as_file().metadata()?.modified().ok().filter(|_| is_locked) {
        for path in leftover_files(folder, now) {
            // A file that cannot be removed stays.
            let _ = fs::remove_file(path);
        }
    }
    Ok(temporary)
}

/// The temporary files in `folder` that killed runs left: nobody holds their lock any more.
#[must_use]
pub fn leftover_files(folder: &Path, now: SystemTime) -> Vec<PathBuf> {
    let is_ours = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
    let is_old = |metadata: fs::Metadata| {
        let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
        metadata.is_file() && age.is_some_and(|age| age >= LEAST_AGE)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|entry| is_ours(&entry.file_name()) && entry.metadata().is_ok_and(is_old));
    let is_free = |path: &PathBuf| File::open(path).is_ok_and(|file| file.try_lock().is_ok());
    left.map(|entry| entry.path()).filter(is_free).collect()
}

/// Removes what a killed command left at `path`, a file or a folder.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_leftover(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
