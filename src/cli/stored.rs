//! Opening the archive that an URL names.

use anyhow::anyhow;

use super::error::CommandError;
use crate::archive::{self, Archive, ArchiveUrl};

/// Opens the archive at `url`, which is made where there is none yet.
pub(super) fn open(url: &str) -> Result<Box<dyn Archive>, CommandError> {
    let url: ArchiveUrl = url.parse().map_err(CommandError::config)?;
    Ok(archive::open(&url)?)
}

/// Opens the archive at `url` to read from it: looking makes none.
pub(super) fn open_existing(url: &str) -> Result<Box<dyn Archive>, CommandError> {
    let url: ArchiveUrl = url.parse().map_err(CommandError::config)?;
    if let ArchiveUrl::Sqlite(path) = &url
        && !path.exists()
    {
        return Err(CommandError::from(anyhow!("open the archive {}: there is none", path.display()))
            .hint("name the archive that was written to with --archive, or set CTXC_ARCHIVE"));
    }
    Ok(archive::open(&url)?)
}
