//! `ctxc archive upgrade`: bring an archive on a server up to date (N-08).

use anyhow::anyhow;
use serde::Serialize;

use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::{Form, Reporting};
use crate::cli::tell::report_file;
use crate::cli::ui::Ui;
use ctxc_store::{ArchiveUrl, Upgraded, upgrade};

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    verb: &'static str,
    archive: &'a str,
    /// The schema of the archive before and after; nothing where it was up to date.
    from: Option<i32>,
    to: Option<i32>,
    grants: &'a [String],
}

pub(super) fn run(place: &ArchiveUrl, url: &str, reporting: &Reporting, ui: &Ui) -> Result<Completion, CommandError> {
    let Upgraded { schema, grants } = upgrade(place)?.ok_or_else(|| anyhow!("no archive at {url}"))?;
    let (from, to) = schema.unzip();
    let report = Report { schema: 1, verb: "archive upgrade", archive: url, from, to, grants: &grants };
    report_file(reporting, &report)?;
    match reporting.form {
        Form::Json => ui.data_line(serde_json::to_string(&report)?)?,
        Form::Text => grants.iter().try_for_each(|grant| ui.data_line(grant))?,
    }
    match schema {
        Some((from, to)) => {
            ui.status(format_args!(
                "upgraded {url} from schema {from} to {to}: older versions of ctxc cannot use it now"
            ));
            ui.hint("its owner runs these statements, so that the others may use what is new in it");
        }
        None => ui.status(format_args!("{url} is up to date")),
    }
    Ok(Completion::Full)
}
