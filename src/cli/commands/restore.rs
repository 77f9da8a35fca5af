//! `ctxc restore`: bring back what was taken out.

use std::io::{Seek, Write};
use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;
use serde::Serialize;

use crate::apply::{self, Staged, operation_of, restore, restore_in_place, unnamed_file};
use crate::archive::{Archive, Operation};
use crate::cli::error::{CommandError, Completion};
use crate::cli::input::{self, Input};
use crate::cli::settings::{Existing, Form, Output, Reporting};
use crate::cli::stored;
use crate::cli::tell::{self, report_file};
use crate::cli::ui::Ui;
use crate::report::size::{bytes, counted};
use crate::transcript::session::Found;

/// What to restore, from where, and where the result goes.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Found,
    pub(crate) output: Output,
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) reporting: Reporting,
}

/// What was brought back.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    verb: &'static str,
    source: String,
    output: Option<String>,
    operation: &'a str,
    bytes: u64,
    appended_lines: u64,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let output_path = if let Output::File(path, _) = &settings.output { Some(path.as_path()) } else { None };
    let apart: Vec<&Path> = [settings.source.path(), output_path].into_iter().flatten().collect();
    tell::probe(&settings.reporting, &apart)?;
    let mut input = input::open(&settings.source)?;
    let name = input.name();
    let archive = stored::open_existing(&settings.archive)?;
    let named = input.path.clone().unwrap_or_else(|| name.clone().into());
    let sessions = stored::sessions(&mut input.file, input.path.as_deref())?;
    let operation = operation_of(&mut input.file, &named, &sessions, &*archive)?;
    let output = place(settings, &operation)?;
    let has_grown = input.file.metadata()?.len() > operation.output.bytes;
    let n_appended = match &output {
        Place::Untouched(path) if has_grown => {
            return Err(CommandError::from(anyhow!(
                "restore {} without a place: entries were added to {name} since, which the source does not have",
                path.display()
            ))
            .hint("name a place for the source with these entries behind it: -o FILE, or --in-place"));
        }
        Place::Untouched(path) => {
            ui.status(format_args!("the source of {name} is there, as it was: {}", path.display()));
            0
        }
        Place::File(path, existing) => {
            let n_appended = bring_back(&mut input, &operation, &*archive, path, *existing)?;
            ui.status(format_args!(
                "restored {}: {} as before `{}`",
                path.display(),
                bytes(operation.source.bytes),
                operation.command
            ));
            n_appended
        }
        Place::Result(path, existing) => {
            let (file, existing) = (&mut input.file, (*existing).into());
            let (backup, n_appended) = restore_in_place(path, file, &operation, &*archive, existing, Timestamp::now())?;
            ui.status(format_args!("what stood there is in {} now", backup.display()));
            n_appended
        }
        Place::Stream => {
            // Nothing is printed before all of it is known to be the source.
            let mut spool = unnamed_file()?;
            let n_appended = restore(&mut input.file, &operation, &*archive, &mut spool)?;
            spool.rewind()?;
            let mut stdout = ui.output();
            std::io::copy(&mut spool, &mut stdout).and_then(|_| stdout.flush())?;
            n_appended
        }
    };
    if n_appended > 0 {
        ui.status(format_args!("{} added since stay behind it", counted(n_appended, "line")));
    }
    let path = match &output {
        Place::Untouched(path) | Place::File(path, _) | Place::Result(path, _) => Some(path.display().to_string()),
        Place::Stream => None,
    };
    let report = Report {
        schema: 1,
        verb: "restore",
        source: name,
        output: path.clone(),
        operation: &operation.id,
        bytes: operation.source.bytes,
        appended_lines: n_appended,
    };
    report_file(&settings.reporting, &report)?;
    match (settings.reporting.form, path) {
        (Form::Json, Some(_)) => ui.data_line(serde_json::to_string(&report)?)?,
        (Form::Text, Some(path)) => ui.data_line(path)?,
        (_, None) => {}
    }
    Ok(Completion::Full)
}

/// Where the source comes back to.
enum Place<'a> {
    /// Where it still is, byte for byte.
    Untouched(&'a Path),
    File(&'a Path, Existing),
    /// In the place of the result.
    Result(&'a Path, Existing),
    Stream,
}

/// Without a word about the place, a source that is still there need not be written; one that is gone comes back to
/// where it was.
fn place<'a>(settings: &'a Settings, operation: &'a Operation) -> Result<Place<'a>, CommandError> {
    match (&settings.output, &settings.source) {
        (Output::File(path, existing), _) => Ok(Place::File(path, *existing)),
        (Output::StandardOutput, _) => Ok(Place::Stream),
        (Output::InPlace(existing), Found::File { path, .. }) => Ok(Place::Result(path, *existing)),
        (Output::InPlace(_) | Output::NewSession(_), _) => {
            let Some(path) = operation.source.path.as_deref() else { return Ok(Place::Stream) };
            match is_source(path, operation) {
                Some(true) => Ok(Place::Untouched(path)),
                None => Ok(Place::File(path, Existing::Respect)),
                Some(false) => {
                    Err(CommandError::from(anyhow!("restore {}: another file stands there now", path.display())).hint(
                        "name a place with -o FILE, or put the source in the place of the session with --in-place",
                    ))
                }
            }
        }
    }
}

/// Whether the file at `path` is the source; `None` when there is no file.
fn is_source(path: &Path, operation: &Operation) -> Option<bool> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut file, &mut hasher).ok()?;
    Some(crate::text::Digest::from(hasher.finalize()) == operation.source.digest)
}

fn bring_back(
    input: &mut Input,
    operation: &Operation,
    archive: &dyn Archive,
    path: &Path,
    existing: Existing,
) -> Result<u64, CommandError> {
    let existing: apply::Existing = existing.into();
    let permissions =
        input.path.as_deref().and_then(|path| path.metadata().ok()).map(|metadata| metadata.permissions());
    let mut staged = Staged::beside(path, existing, permissions)?;
    let n_appended = restore(&mut input.file, operation, archive, staged.file())?;
    staged.sync()?;
    staged.commit(existing)?;
    Ok(n_appended)
}
