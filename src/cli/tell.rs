//! Handing out the result of a command: as text or as JSON on standard output, and as JSON in a file.

use std::fmt::Display;

use anyhow::Context;
use serde::Serialize;

use super::error::CommandError;
use super::settings::{Form, Reporting};
use super::ui::Ui;
use crate::apply::write_report;

/// Tells a result as `reporting` wants it: `text` or `json` on standard output, `json` in the file of the report.
///
/// # Errors
/// When either cannot be written.
pub(super) fn tell(
    reporting: &Reporting,
    ui: &Ui,
    json: &impl Serialize,
    text: impl Display,
) -> Result<(), CommandError> {
    report_file(reporting, json)?;
    match reporting.form {
        Form::Text => ui.data(text),
        Form::Json => ui.data_line(serde_json::to_string(json)?),
    }
}

/// Writes `json` into the file of the report, where there is one.
///
/// # Errors
/// When it cannot be written.
pub(super) fn report_file(reporting: &Reporting, json: &impl Serialize) -> Result<(), CommandError> {
    let Some(path) = &reporting.report else { return Ok(()) };
    let line = serde_json::to_string(json)? + "\n";
    Ok(write_report(path, &line).with_context(|| format!("write {}", path.display()))?)
}
