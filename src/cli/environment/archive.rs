//! The URL of the archive, for ctxc itself and for commands in placeholders.

use super::{Environment, Password, data_dir};
use crate::session::error::CommandError;
use crate::session::options::ArchiveChoice;
use ctxc_core::apply::ArchiveRef;
use ctxc_store::ArchiveUrl;

impl Environment {
    /// The URL of the archive: `asked`, else the configured one, else a file in the data folder.
    ///
    /// # Errors
    /// When neither is given and there is no home folder.
    pub(crate) fn archive_url(&self, asked: Option<&str>) -> Result<String, CommandError> {
        match asked.or(self.config.archive.as_deref()) {
            Some(url) => Ok(self.with_password(url)),
            None => self.default_archive_url(),
        }
    }

    /// `url`, with a password if it names a server and has none: that of the configured archive if the server is the
    /// same, else `PGPASSWORD`. This makes the commands in placeholders work, which contain no password.
    fn with_password(&self, url: &str) -> String {
        let Ok(ArchiveUrl::Postgres(server)) = url.parse() else { return url.to_owned() };
        if server.has_password() {
            return url.to_owned();
        }
        let configured = self.config.archive.as_deref().filter(|configured| match configured.parse() {
            Ok(ArchiveUrl::Postgres(configured)) => {
                configured.has_password() && configured.to_string() == server.to_string()
            }
            Ok(ArchiveUrl::Memory | ArchiveUrl::Sqlite(_)) | Err(_) => false,
        });
        match (configured, &self.postgres_password) {
            (Some(configured), _) => configured.to_owned(),
            (None, Some(Password(password))) => server.with_password(password),
            (None, None) => url.to_owned(),
        }
    }

    /// The archive as commands in placeholders name it, independent of the current folder.
    ///
    /// # Errors
    /// When the URL is invalid.
    pub(crate) fn archive_ref(&self, keep: &ArchiveChoice) -> Result<ArchiveRef, CommandError> {
        let ArchiveChoice::In(url) = keep else { return Ok(ArchiveRef::Nowhere) };
        match url.parse().map_err(CommandError::usage)? {
            ArchiveUrl::Memory => Ok(ArchiveRef::Nowhere),
            // A transcript must not contain the password.
            ArchiveUrl::Postgres(url) => Ok(ArchiveRef::At(url.to_string())),
            ArchiveUrl::Sqlite(path) => {
                let url = format!("sqlite:{}", std::path::absolute(&path).unwrap_or(path).display());
                let is_default = self.default_archive_url().is_ok_and(|default| default == url);
                Ok(if is_default { ArchiveRef::Default } else { ArchiveRef::At(url) })
            }
        }
    }

    /// The URL of the default archive.
    ///
    /// # Errors
    /// When there is no home folder.
    #[expect(clippy::unused_self, reason = "the home folder belongs to the environment")]
    pub(crate) fn default_archive_url(&self) -> Result<String, CommandError> {
        Ok(format!("sqlite:{}", data_dir()?.join("archive.sqlite").display()))
    }
}
