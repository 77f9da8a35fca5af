//! `ctxc archive upgrade`: bring an archive on a server up to date (N-08).

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::Serialize;

use super::opened::ArchiveArg;
use crate::cli::context::Context;
use crate::session::error::CommandError;
use ctxc_store::{ArchiveUrl, Upgraded, hide_password, upgrade};

/// The schema of an archive before and after an upgrade.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    archive: &'a str,
    /// The schema of the archive before and after; nothing where it was up to date.
    from: Option<i32>,
    to: Option<i32>,
    grants: &'a [String],
}

pub(super) fn run(args: &ArchiveArg, context: &Context<'_>) -> Result<(), CommandError> {
    let url = context.environment.archive_url(args.archive.as_deref())?;
    context.probe_report(None)?;
    let place: ArchiveUrl = url.parse().map_err(CommandError::usage)?;
    let (url, ui) = (&hide_password(&url), context.ui);
    let Upgraded { schema, grants } = upgrade(&place)?.ok_or_else(|| anyhow!("no archive at {url}"))?;
    let (from, to) = schema.unzip();
    let report = Report { archive: url, from, to, grants: &grants };
    let statements = grants.iter().fold(String::new(), |statements, grant| statements + grant + "\n");
    context.print(&report, statements)?;
    match schema {
        Some((from, to)) => {
            ui.status(format_args!(
                "upgraded {url} from schema {from} to {to}: older versions of ctxc cannot use it now"
            ));
            ui.hint("as its owner, run these statements to grant access to new tables");
        }
        None => ui.status(format_args!("{url} is up to date")),
    }
    Ok(())
}
