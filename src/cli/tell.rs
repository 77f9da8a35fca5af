//! Handing out the result of a command: as text or as JSON on standard output, and as JSON in a file.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Context, anyhow};

use super::error::CommandError;
use super::settings::{Form, Reporting};
use super::ui::{Paths, Ui};
use crate::report::envelope::{Report, to_json};
use ctxc_core::apply::{probe_report, write_report};
use ctxc_transcript::text::printable;

/// Prints a result as `reporting` asks for: `text` or `report` as JSON on standard output, and JSON in the file of `--report`.
///
/// # Errors
/// When either cannot be written.
pub(super) fn tell(
    reporting: &Reporting,
    ui: &Ui,
    report: &impl Report,
    text: impl Display,
) -> Result<(), CommandError> {
    report_file(reporting, report)?;
    tell_only(reporting, ui, report, text)
}

/// As [`tell`], of a text that quotes a session, whose paths are left as they are.
///
/// # Errors
/// When either cannot be written.
pub(super) fn tell_quoted(
    reporting: &Reporting,
    ui: &Ui,
    report: &impl Report,
    text: impl Display,
) -> Result<(), CommandError> {
    report_file(reporting, report)?;
    match reporting.form {
        Form::Text => ui.text(text, Paths::Whole),
        Form::Json => ui.data_line(to_json(&reporting.verb, report)?),
    }
}

/// As [`tell`], on standard output alone.
///
/// # Errors
/// When it cannot be written.
pub(super) fn tell_only(
    reporting: &Reporting,
    ui: &Ui,
    report: &impl Report,
    text: impl Display,
) -> Result<(), CommandError> {
    match reporting.form {
        Form::Text => ui.text(text, Paths::Short),
        Form::Json => ui.data_line(to_json(&reporting.verb, report)?),
    }
}

/// Refuses a report that cannot be written, or that would take the place of a transcript, before any work is done.
/// `apart` are the files that the command reads and writes.
///
/// # Errors
/// When the report has no place, or a wrong one.
pub(super) fn probe(reporting: &Reporting, apart: &[&Path]) -> Result<(), CommandError> {
    let Some(path) = &reporting.report else { return Ok(()) };
    let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl") && path.exists();
    if is_transcript || apart.iter().any(|other| is_same(path, other)) {
        return Err(CommandError::usage(anyhow!("--report {} would overwrite a transcript", path.display()))
            .hint("use another name, such as report.json"));
    }
    Ok(probe_report(path).with_context(|| format!("write the report to {}", path.display()))?)
}

/// Whether both paths lead to one file, or would once they are there.
fn is_same(left: &Path, right: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize().ok().or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
    };
    place(left).is_some_and(|left| Some(left) == place(right))
}

/// Writes `report` as JSON into the file of the report, where there is one.
///
/// # Errors
/// When it cannot be written.
pub(super) fn report_file(reporting: &Reporting, report: &impl Report) -> Result<(), CommandError> {
    let Some(path) = &reporting.report else { return Ok(()) };
    let line = to_json(&reporting.verb, report)? + "\n";
    Ok(write_report(path, &printable(&line)).with_context(|| format!("write {}", path.display()))?)
}
