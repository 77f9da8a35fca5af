//! `ctxc log`: tell how a session came to be what it is.

use std::path::PathBuf;

use crate::apply::{ApplyError, operation_of};
use crate::archive::{Operation, hide_password, lineage};
use crate::cli::error::{CommandError, Completion};
use crate::cli::input;
use crate::cli::settings::Reporting;
use crate::cli::stored::{self, session_names};
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::archive::Log;
use crate::text::Digest;
use crate::transcript::session::Found;

/// Whose lineage, and which archive knows it.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &settings.source.path().into_iter().collect::<Vec<_>>())?;
    let mut input = input::open(&settings.source)?;
    let name = input.name();
    let sessions = session_names(&mut input)?;
    let path = input.path.clone().unwrap_or_else(|| PathBuf::from(&name));
    let archive = stored::open_existing(&settings.archive)?;
    let lineage = match operation_of(&mut input.file, &path, &sessions, &*archive) {
        Ok(operation) => lineage(&*archive, &operation)?.into_iter().filter(Operation::changes).collect(),
        Err(ApplyError::NoOperation(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut hasher = blake3::Hasher::new();
    std::io::Seek::rewind(&mut input.file)?;
    std::io::copy(&mut input.file, &mut hasher)?;
    let log = Log::new(name.clone(), Digest::from(hasher.finalize()), &lineage);
    tell(&settings.reporting, ui, &log, &log)?;
    if lineage.is_empty() {
        ui.status(format_args!(
            "no operation in {} made {name}: ctxc has not changed it",
            hide_password(&settings.archive)
        ));
    }
    Ok(Completion::Full)
}
