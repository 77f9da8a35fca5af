//! The folder and the file of an archive, closed to everybody but their owner whatever the umask is.
//!
//! `SQLite` gives its `-wal` and `-shm` files the mode of the database, so that one has to have it first.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::ArchiveError;

/// Makes the folder of `path`, and all above it that are missing, each with mode 0700. Those that are there
/// stay as they are.
pub(super) fn create_folder(path: &Path) -> Result<(), ArchiveError> {
    let missing: Vec<&Path> =
        path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        create_private_folder(folder).map_err(|source| create_error(folder, source))?;
    }
    Ok(())
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no mode to set"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was faster; its folder serves.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        result => result?,
    }
    set_mode(folder, 0o700)?;
    folder.parent().map_or(Ok(()), sync_folder)
}

/// What the names of folders begin with in which new files are made.
const NEW: &str = ".ctxc-archive-";
/// The file in such a folder whose lock says that it is in use.
const LOCK: &str = "lock";
/// A younger folder may be one that is not locked yet.
const LEAST_AGE: Duration = Duration::from_secs(60);

/// The folders in `folder` that were left by processes which were killed while they made a new archive.
#[must_use]
pub fn leftover_folders(folder: &Path, now: SystemTime) -> Vec<PathBuf> {
    let is_ours = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|name| name.starts_with(NEW));
    let is_old = |metadata: fs::Metadata| {
        let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
        metadata.is_dir() && age.is_some_and(|age| age >= LEAST_AGE)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|entry| is_ours(entry) && entry.metadata().is_ok_and(is_old));
    let is_free = |path: &PathBuf| match fs::File::open(path.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    left.map(|entry| entry.path()).filter(is_free).collect()
}

/// A new file on its way to its place.
pub(super) struct NewFile {
    /// Says that the folder is in use; closed before it is removed.
    _lock: fs::File,
    /// Holds the file and whatever `SQLite` lays beside it; removed when dropped.
    folder: tempfile::TempDir,
}

impl NewFile {
    /// An empty file that only its owner can read, on the file system of `path`.
    pub(super) fn create(path: &Path) -> Result<Self, ArchiveError> {
        let beside = path.parent().unwrap_or(path);
        let create = || {
            let folder = tempfile::Builder::new().prefix(NEW).tempdir_in(beside)?;
            let lock = fs::File::create_new(folder.path().join(LOCK))?;
            // Where files cannot be locked, none is removed either.
            let now = lock.metadata()?.modified().ok().filter(|_| lock.try_lock().is_ok());
            for path in now.map(|now| leftover_folders(beside, now)).unwrap_or_default() {
                // What cannot be removed stays.
                let _ = fs::remove_dir_all(path);
            }
            let new = Self { _lock: lock, folder };
            fs::File::create_new(new.path())?;
            set_mode(&new.path(), 0o600)?;
            Ok(new)
        };
        create().map_err(|source| create_error(path, source))
    }

    /// Where the file is for the time being.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("new.sqlite")
    }

    /// Gives the file the name `path`, unless something has that name already.
    pub(super) fn settle(self, path: &Path) -> Result<(), ArchiveError> {
        let settle = || match tempfile::TempPath::try_from_path(self.path())?.persist_noclobber(path) {
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.error),
            Ok(()) => path.parent().map_or(Ok(()), sync_folder),
        };
        settle().map_err(|source| create_error(path, source))
    }
}

/// The files of the database at `path`, whether or not they are there.
pub(super) fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut name = OsString::from(path);
        name.push(suffix);
        name.into()
    })
}

/// Takes all rights but its owner's from a database that was made otherwise. One that belongs to somebody
/// else stays as it is.
pub(super) fn tighten(path: &Path) {
    for file in files(path) {
        if is_open_to_others(&file) {
            let _not_ours = set_mode(&file, 0o600);
        }
    }
}

fn create_error(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::Create { path: path.to_owned(), source }
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Elsewhere a file in the user's data folder has the rights of that folder.
#[cfg(not(unix))]
fn is_open_to_others(_path: &Path) -> bool {
    false
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Elsewhere a folder cannot be opened as a file, and its entries need no sync of their own.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}
