//! Paths that are no UTF-8, as databases keep them: as bytes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The bytes of `path`.
pub(super) fn to_bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

/// The path of these bytes.
#[cfg(unix)]
pub(super) fn from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).into()
}

/// Elsewhere no safe way leads back from odd bytes; the path is only shown, so an approximation serves.
#[cfg(not(unix))]
pub(super) fn from_bytes(bytes: &[u8]) -> PathBuf {
    OsStr::new(String::from_utf8_lossy(bytes).as_ref()).into()
}
