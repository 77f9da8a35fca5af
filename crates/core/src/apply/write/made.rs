//! Files that ctxc made and that are no longer needed.

use std::fs;
use std::io;
use std::path::Path;

/// Removes the file at `path`, and `folder`, which belongs to it, where it is there.
///
/// # Errors
/// When one of them cannot be removed.
pub fn remove_made(path: &Path, folder: Option<&Path>) -> io::Result<()> {
    fs::remove_file(path)?;
    match folder.filter(|folder| folder.is_dir()) {
        Some(folder) => fs::remove_dir_all(folder),
        None => Ok(()),
    }
}
