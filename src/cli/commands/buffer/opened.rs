//! A buffer in an archive that is open.

use super::args::WhereArgs;
use crate::buffer::Name;
use crate::cli::context::Context;
use crate::session::archives;
use crate::session::error::CommandError;
use ctxc_store as archive;
use ctxc_store::{Archive, ArchiveUrl};

/// A buffer that is worked with.
pub(super) struct OpenBuffer<'a> {
    pub(super) url: String,
    pub(super) archive: Box<dyn Archive>,
    pub(super) name: Name,
    pub(super) context: &'a Context<'a>,
}

impl<'a> OpenBuffer<'a> {
    /// Opens the archive at `url`, which is made where there is none yet.
    pub(super) fn to_fill(url: String, name: Name, context: &'a Context<'a>) -> Result<Self, CommandError> {
        if let Ok(ArchiveUrl::Memory) = url.parse() {
            context.ui.warning("an archive in memory is gone when this command ends; use --archive sqlite:PATH");
        }
        let archive = archives::open(&url)?;
        Ok(Self { url, archive, name, context })
    }

    /// Opens the archive that `args` names. Where there is none, it is as one that is empty (H-09): looking makes none.
    pub(super) fn to_read(args: WhereArgs, context: &'a Context<'a>) -> Result<Self, CommandError> {
        let url = args.url(context)?;
        context.probe_report(None)?;
        let archive = match url.parse().map_err(CommandError::config)? {
            ArchiveUrl::Sqlite(path) if !path.exists() => archive::open(&ArchiveUrl::Memory)?,
            url => archive::open(&url)?,
        };
        Ok(Self { url, archive, name: args.buffer, context })
    }

    /// The archive as messages name it: a URL of a server may hold a password.
    pub(super) fn place(&self) -> String {
        match self.url.split_once("://") {
            Some((scheme, _)) if scheme != "sqlite" => format!("{scheme}:"),
            _ => self.url.clone(),
        }
    }
}
