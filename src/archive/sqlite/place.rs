//! The folder and the file of an archive, closed to everybody but their owner whatever the umask is.
//!
//! SQLite gives its `-wal` and `-shm` files the mode of the database, so that one has to have it first.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::archive::ArchiveError;

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

/// An empty file beside `path` that only its owner can read, removed when dropped.
pub(super) fn create_private_file(path: &Path) -> Result<tempfile::TempPath, ArchiveError> {
    let folder = path.parent().unwrap_or(path);
    let create = || {
        let file = tempfile::Builder::new().prefix(".ctxc-archive-").tempfile_in(folder)?;
        set_mode(file.path(), 0o600)?;
        Ok(file.into_temp_path())
    };
    create().map_err(|source| create_error(path, source))
}

/// Gives `new` the name `path`, unless something has that name already; then `new` is removed.
pub(super) fn settle(new: tempfile::TempPath, path: &Path) -> Result<(), ArchiveError> {
    match new.persist_noclobber(path) {
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(create_error(path, error.error)),
        Ok(()) => path.parent().map_or(Ok(()), sync_folder).map_err(|source| create_error(path, source)),
    }
}

/// Takes all rights but its owner's from a database that was made otherwise. One that belongs to somebody
/// else stays as it is.
pub(super) fn tighten(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = OsString::from(path);
        name.push(suffix);
        let file = PathBuf::from(name);
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

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file, and its entries need no sync of their own.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
