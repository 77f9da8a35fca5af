//! What all verbs of `ctxc buffer` have in common.

use super::{delete, list, load, push, read, state};
use crate::buffer::Name;
use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::Reporting;
use crate::cli::stored;
use crate::cli::tell;
use crate::cli::ui::Ui;
use ctxc_store as archive;
use ctxc_store::{Archive, ArchiveUrl};

/// What is asked, of which buffer in which archive.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) buffer: Name,
    pub(crate) asked: Asked,
    pub(crate) reporting: Reporting,
}

/// What is asked of a buffer.
#[derive(Debug)]
pub(crate) enum Asked {
    Push(Box<push::Settings>),
    Load(Box<load::Settings>),
    Read(read::Settings),
    Summary,
    Tokens,
    Delete(delete::What),
    List,
}

/// A buffer that is worked with.
pub(super) struct Desk<'a> {
    pub(super) url: &'a str,
    pub(super) archive: Box<dyn Archive>,
    pub(super) name: &'a Name,
    pub(super) reporting: &'a Reporting,
    pub(super) ui: &'a Ui,
}

impl Desk<'_> {
    /// The archive as messages name it: a URL of a server may hold a password.
    pub(super) fn place(&self) -> String {
        match self.url.split_once("://") {
            Some((scheme, _)) if scheme != "sqlite" => format!("{scheme}:"),
            _ => self.url.to_owned(),
        }
    }
}

pub(crate) fn run(settings: Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let Settings { archive: url, buffer: name, asked, reporting } = settings;
    let desk = |archive| Desk { url: &url, archive, name: &name, reporting: &reporting, ui };
    match asked {
        Asked::Push(asked) => {
            tell::probe(&reporting, &[])?;
            let spoken = asked.spoken()?;
            push::run(*asked, spoken, desk(open_to_fill(&url, ui)?))
        }
        Asked::Load(asked) => {
            tell::probe(&reporting, &asked.source.path().into_iter().collect::<Vec<_>>())?;
            let spoken = asked.spoken(ui)?;
            load::run(*asked, spoken, desk(open_to_fill(&url, ui)?))
        }
        Asked::Read(asked) => read::run(&asked, &desk(open_to_read(&url, &reporting)?)),
        Asked::Summary => state::summary(&desk(open_to_read(&url, &reporting)?)),
        Asked::Tokens => state::tokens(&desk(open_to_read(&url, &reporting)?)),
        Asked::Delete(what) => delete::run(what, desk(open_to_read(&url, &reporting)?)),
        Asked::List => list::run(&desk(open_to_read(&url, &reporting)?)),
    }
}

/// Opens the archive at `url`, which is made where there is none yet.
fn open_to_fill(url: &str, ui: &Ui) -> Result<Box<dyn Archive>, CommandError> {
    if let Ok(ArchiveUrl::Memory) = url.parse() {
        ui.warning("an archive in memory is gone when this command ends; use --archive sqlite:PATH");
    }
    stored::open(url)
}

/// Opens the archive at `url`. Where there is none, it is as one that is empty (H-09): looking makes none.
fn open_to_read(url: &str, reporting: &Reporting) -> Result<Box<dyn Archive>, CommandError> {
    tell::probe(reporting, &[])?;
    match url.parse().map_err(CommandError::config)? {
        ArchiveUrl::Sqlite(path) if !path.exists() => Ok(archive::open(&ArchiveUrl::Memory)?),
        url => Ok(archive::open(&url)?),
    }
}
