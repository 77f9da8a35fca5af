//! `ctxc gain`: what operations saved, and what they cost (W-08).

use std::collections::HashSet;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::Reporting;
use crate::cli::stored;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::gain::Gain;
use ctxc_core::version::Edits;
use ctxc_store::{Archive, Operation, Operations, hide_password};

/// Of what to tell.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The URL of the archive.
    pub(crate) archive: String,
    /// How old operations may be.
    pub(crate) since: Option<SignedDuration>,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &[])?;
    let since = settings.since.and_then(|age| Timestamp::now().checked_sub(age).ok());
    let mut gain = Gain::new(hide_password(&settings.archive), since, ui.look());
    if let Some(archive) = stored::open_if_there(&settings.archive)? {
        let operations = archive.operations(Operations::All)?;
        let (undone, undoing) = undone(&*archive, &operations);
        // Undoing saves nothing: what it brought back is not counted as saved before.
        let counted = operations.iter().filter(|it| it.changes() && !undoing.contains(it.id.as_str()));
        for operation in counted.filter(|it| since.is_none_or(|since| it.time >= since)) {
            gain.add(operation, &project(operation), undone.contains(&operation.id));
        }
    }
    tell(&settings.reporting, ui, &gain, &gain)?;
    if gain.is_empty() {
        ui.status("no operation recorded: nothing saved, nothing spent");
    }
    Ok(Completion::Full)
}

/// The ids of the operations that are undone, and of those that do nothing but undo. Operations of an archive that did not
/// keep whole sessions undo nothing.
fn undone<'a>(archive: &dyn Archive, operations: &'a [Operation]) -> (HashSet<String>, HashSet<&'a str>) {
    let (mut undone, mut undoing) = (HashSet::new(), HashSet::new());
    // The newest first, for one that is undone itself undoes nothing.
    for Operation { id, .. } in operations.iter().rev() {
        let Ok(edits) = Edits::read(archive, id) else { continue };
        if !edits.undoes.is_empty() {
            undoing.insert(id.as_str());
            if !undone.contains(id) {
                undone.extend(edits.undoes);
            }
        }
    }
    (undone, undoing)
}

/// The folder of the project that an operation was for.
fn project(operation: &Operation) -> String {
    let path = operation.source.path.as_deref().or(operation.output.path.as_deref());
    let folder = path.and_then(Path::parent).and_then(Path::file_name);
    folder.map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned())
}
