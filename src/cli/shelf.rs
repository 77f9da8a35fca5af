//! The archive as the commands in placeholders name it.

use super::error::CommandError;
use super::places::Environment;
use super::settings::Keep;
use ctxc_core::apply::Shelf;
use ctxc_store::ArchiveUrl;

/// How a command names the archive that keeps the originals, so that it works from anywhere.
pub(super) fn shelf(keep: &Keep, environment: &Environment) -> Result<Shelf, CommandError> {
    let Keep::In(url) = keep else { return Ok(Shelf::Nowhere) };
    match url.parse().map_err(CommandError::config)? {
        ArchiveUrl::Memory => Ok(Shelf::Nowhere),
        // Without the password: a transcript is no place for it.
        ArchiveUrl::Postgres(url) => Ok(Shelf::At(url.to_string())),
        ArchiveUrl::Sqlite(path) => {
            let url = format!("sqlite:{}", std::path::absolute(&path).unwrap_or(path).display());
            let is_default = environment.default_archive_url().is_ok_and(|default| default == url);
            Ok(if is_default { Shelf::Default } else { Shelf::At(url) })
        }
    }
}
