//! `ctxc restore --all` and `--op`: the transcript as it was before one operation, or before all.

use std::io::{Seek, Write};
use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;
use serde::Serialize;

use super::restore::Settings;
use super::restore_older;
use crate::apply::{ApplyError, BroughtBack, Errand, Home, Standing, WayBack};
use crate::apply::{bring_back, open_cuts, provenance, turned, way_to_root};
use crate::archive::{Archive, Cut, Operation};
use crate::cli::error::{CommandError, Completion};
use crate::cli::input::{self, Input};
use crate::cli::landing::{command_line, refuse_unless_file};
use crate::cli::settings::{Existing, Form, Mode, Output};
use crate::cli::stored;
use crate::cli::tell::{self, report_file};
use crate::cli::ui::Ui;
use crate::report::size::{bytes, counted};
use crate::transcript::session::Found;

/// What was brought back.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    verb: &'static str,
    source: String,
    output: Option<String>,
    /// Why nothing changed, when nothing did.
    unchanged: Option<&'a str>,
    dry_run: bool,
    /// The operation whose source this is.
    operation: Option<&'a str>,
    /// The operations that were taken back, newest first.
    undone: Vec<&'a str>,
    /// The operation that notes this in the archive.
    noted: Option<String>,
    bytes: u64,
    appended_lines: u64,
}

/// `only` is the operation that is to be undone; all of them are without one.
pub(super) fn run(settings: &Settings, only: Option<&str>, ui: &Ui) -> Result<Completion, CommandError> {
    let rewriting = &settings.rewriting;
    let output_path = if let Output::File(path, _) = &rewriting.output { Some(path.as_path()) } else { None };
    let apart: Vec<&Path> = [rewriting.source.path(), output_path].into_iter().flatten().collect();
    tell::probe(&rewriting.reporting, &apart)?;
    let mut input = input::open(&rewriting.source)?;
    let name = input.name();
    let mut archive = stored::open_existing(&settings.archive)?;
    let sessions = stored::sessions(&mut input.file, input.path.as_deref())?;
    let known = provenance(&mut input.file, input.path.as_deref(), &sessions, &*archive)?;
    let Some(known) = known.filter(|known| known.standing != Standing::Changed) else {
        return Err(ApplyError::NoOperation(input.path.unwrap_or_else(|| name.into())).into());
    };
    let lineage = known.lineage;
    let way = match only {
        None => way_to_root(&mut input.file, &lineage, &*archive)?,
        Some(id) => {
            let at = place_of(id, &lineage, &*archive)?;
            if at > 0 {
                return restore_older::run(settings, &lineage, at, &*archive, ui);
            }
            lineage.get(..=at).unwrap_or_default()
        }
    };
    let Some(last) = way.last() else {
        return nothing_to_undo(settings, &mut input, ui);
    };
    let place = place(settings, last)?;
    let newest = way.first().unwrap_or(last);
    let steps = way.iter().zip(way.iter().skip(1));
    let has_grown = input.file.metadata()?.len() > newest.output.bytes
        || steps.clone().any(|(newer, older)| newer.source.digest != older.output.digest);
    let mut report = Report {
        schema: 1,
        verb: "restore",
        source: name.clone(),
        output: None,
        unchanged: None,
        dry_run: rewriting.mode == Mode::Show,
        operation: Some(&last.id),
        undone: way.iter().map(|operation| operation.id.as_str()).collect(),
        noted: None,
        bytes: last.source.bytes,
        appended_lines: 0,
    };
    let path = match &place {
        Place::Untouched(path) | Place::File(path, _) | Place::Result(path, _) => Some(*path),
        Place::Stream => None,
    };
    report.output = path.map(|path| path.display().to_string());
    match place {
        Place::Untouched(path) if has_grown => {
            return Err(CommandError::from(anyhow!(
                "restore {} without a place: entries were added to {name} since, which the source does not have",
                path.display()
            ))
            .hint("name a place for the source with these entries behind it: -o FILE, or --in-place"));
        }
        Place::Untouched(path) => {
            ui.status(format_args!("the source of {name} is there, as it was: {}", path.display()));
        }
        place if rewriting.mode == Mode::Show => {
            let to = place.describe();
            let n_steps = counted(way.len() as u64, "operation");
            ui.status(format_args!("would undo {n_steps}, and write {} to {to}", bytes(last.source.bytes)));
        }
        place => {
            let root_session = way.iter().rev().find_map(|operation| operation.session_ids.first());
            let session = root_session.cloned().or_else(|| sessions.first().cloned());
            let errand = Errand {
                verb: "restore",
                command: command_line(),
                session: session.unwrap_or_else(|| "-".to_owned()),
                now: Timestamp::now(),
                stop: ui.stop(),
            };
            let cuts = taken_back(&lineage, way);
            let way = WayBack { path: input.path.as_deref(), operations: way, cuts, errand };
            let mut stdout = ui.output();
            let home = match place {
                Place::File(path, existing) => {
                    refuse_unless_file(path)?;
                    Home::File(path, existing.into())
                }
                Place::Result(path, existing) => Home::InPlace(path, existing.into()),
                Place::Stream | Place::Untouched(_) => Home::Stream(&mut stdout),
            };
            let done = bring_back(&mut input.file, &way, &mut *archive, home)?;
            report.appended_lines = done.n_appended;
            report.noted = say(done, path, last, ui);
        }
    }
    report_file(&rewriting.reporting, &report)?;
    match (rewriting.reporting.form, &report.output) {
        (Form::Json, Some(_)) => ui.data_line(serde_json::to_string(&report)?)?,
        (Form::Text, Some(path)) => ui.data_line(path)?,
        (_, None) => {}
    }
    Ok(Completion::Full)
}

/// Says what was brought back; gives the operation that notes it.
fn say(done: BroughtBack, path: Option<&Path>, last: &Operation, ui: &Ui) -> Option<String> {
    match (&done.backup, path) {
        (Some(backup), _) => ui.status(format_args!("what stood there is in {} now", backup.display())),
        (None, Some(path)) => ui.status(format_args!(
            "restored {}: {} as before `{}`",
            path.display(),
            bytes(last.source.bytes),
            last.command
        )),
        (None, None) => {}
    }
    if done.n_appended > 0 {
        ui.status(format_args!("{} added since stay behind it", counted(done.n_appended, "line")));
    }
    match done.noted {
        Ok(id) => Some(id),
        Err(error) => {
            let reason = CommandError::from(error).text();
            ui.warning(format_args!("the archive does not note that this was restored: cannot {reason}"));
            None
        }
    }
}

/// The place of the operation `id` in `lineage`.
fn place_of(id: &str, lineage: &[Operation], archive: &dyn Archive) -> Result<usize, CommandError> {
    let Some(operation) = archive.operation(id)? else {
        return Err(CommandError::from(anyhow!("undo the operation {id}: the archive has none of that id"))
            .hint("`ctxc log SESSION` lists the operations of a session"));
    };
    lineage.iter().position(|known| known.id == operation.id).ok_or_else(|| {
        CommandError::from(anyhow!("undo the operation {}: this session does not come of it", operation.id))
            .hint("`ctxc log SESSION` lists the operations of a session")
    })
}

/// What is noted of the cuts once the operations of `way` are taken back.
pub(super) fn taken_back(lineage: &[Operation], way: &[Operation]) -> Vec<Cut> {
    turned(&open_cuts(lineage), &open_cuts(lineage.get(way.len()..).unwrap_or_default()))
}

/// A transcript of which nothing has been taken out.
fn nothing_to_undo(settings: &Settings, input: &mut Input, ui: &Ui) -> Result<Completion, CommandError> {
    let rewriting = &settings.rewriting;
    let name = input.name();
    let reason = "it is the source itself";
    let report = Report {
        schema: 1,
        verb: "restore",
        source: name.clone(),
        output: None,
        unchanged: Some(reason),
        dry_run: rewriting.mode == Mode::Show,
        operation: None,
        undone: Vec::new(),
        noted: None,
        bytes: input.file.metadata()?.len(),
        appended_lines: 0,
    };
    report_file(&rewriting.reporting, &report)?;
    ui.status(format_args!("nothing changed: nothing has been taken out of {name}, {reason}"));
    input.file.rewind()?;
    let path = match &rewriting.output {
        Output::File(path, existing) if rewriting.mode == Mode::Do => {
            refuse_unless_file(path)?;
            let mut staged = crate::apply::Staged::beside(path, (*existing).into(), None)?;
            std::io::copy(&mut input.file, staged.file())?;
            staged.sync()?;
            staged.commit((*existing).into())?;
            path.display().to_string()
        }
        Output::StandardOutput if rewriting.mode == Mode::Do => {
            let mut stdout = ui.output();
            std::io::copy(&mut input.file, &mut stdout).and_then(|_| stdout.flush())?;
            return Ok(Completion::Full);
        }
        Output::File(..) | Output::StandardOutput | Output::InPlace(_) | Output::NewSession(_) => name,
    };
    match rewriting.reporting.form {
        Form::Json => ui.data_line(serde_json::to_string(&report)?)?,
        Form::Text => ui.data_line(path)?,
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

impl Place<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Untouched(path) | Self::File(path, _) | Self::Result(path, _) => path.display().to_string(),
            Self::Stream => "standard output".to_owned(),
        }
    }
}

/// Without a word about the place, a source that is still there need not be written; one that is gone comes back to
/// where it was.
fn place<'a>(settings: &'a Settings, operation: &'a Operation) -> Result<Place<'a>, CommandError> {
    match (&settings.rewriting.output, &settings.rewriting.source) {
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
