//! `ctxc archive copy`: copy everything into another archive that lacks it.

use std::ops::ControlFlow;

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::Serialize;

use super::run::Desk;
use crate::cli::error::{CommandError, Completion};
use crate::cli::progress::Progress;
use crate::cli::tell::tell;
use crate::report::envelope;
use crate::report::size::counted;
use ctxc_core::version::copy_sessions;
use ctxc_store::{ArchiveUrl, Copied, open};
use ctxc_transcript::text::Stopped;

/// Where to.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) to: ArchiveUrl,
}

/// The number of records copied to another archive.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    archive: &'a str,
    to: String,
    operations: u64,
    originals: u64,
    records: u64,
    objects: u64,
    present: u64,
}

impl envelope::Report for Report<'_> {}

pub(super) fn run(settings: &Settings, desk: &Desk<'_>) -> Result<Completion, CommandError> {
    if settings.to == ArchiveUrl::Memory {
        return Err(CommandError::usage(anyhow!("cannot copy into memory: it is gone when the command ends"))
            .hint("use --to sqlite:PATH, or --to postgres://USER:PASSWORD@HOST/DATABASE"));
    }
    if is_same(desk.place, &settings.to) {
        return Err(CommandError::usage(anyhow!("cannot copy the archive {} into itself", place(desk.place)))
            .hint("use another --to"));
    }
    let mut to = open(&settings.to)?;
    let mut bar: Option<Progress> = None;
    let mut n_known = 0;
    let copied = copy_sessions(&*desk.archive, &mut *to, &mut |n_done, total| {
        bar.get_or_insert_with(|| Progress::start(desk.ui, "copying", total)).advance(n_done - n_known);
        n_known = n_done;
        if Stopped::check(desk.ui.stop()).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    drop(bar);
    Stopped::check(desk.ui.stop())?;
    let Copied { operations, originals, records, objects, present } = copied;
    let to = settings.to.to_string();
    desk.ui.status(format_args!(
        "copied {} with {}, {}, and {}; {} present",
        counted(operations, "operation"),
        counted(originals, "original"),
        counted(records, "record"),
        counted(objects, "object"),
        if present == 1 { "1 was already".to_owned() } else { format!("{present} were already") },
    ));
    let report = Report { archive: desk.url, to: to.clone(), operations, originals, records, objects, present };
    tell(desk.reporting, desk.ui, &report, format_args!("{to}\n"))?;
    Ok(Completion::Full)
}

/// Whether both are one archive, however it was named.
fn is_same(left: &ArchiveUrl, right: &ArchiveUrl) -> bool {
    match (left, right) {
        (ArchiveUrl::Sqlite(left), ArchiveUrl::Sqlite(right)) => match (left.canonicalize(), right.canonicalize()) {
            (Ok(left), Ok(right)) => left == right,
            _ => false,
        },
        (ArchiveUrl::Postgres(left), ArchiveUrl::Postgres(right)) => left.is_same_place(right),
        (ArchiveUrl::Memory | ArchiveUrl::Sqlite(_) | ArchiveUrl::Postgres(_), _) => false,
    }
}

/// An archive as errors name it.
fn place(url: &ArchiveUrl) -> String {
    match url {
        ArchiveUrl::Sqlite(path) => path.display().to_string(),
        ArchiveUrl::Memory | ArchiveUrl::Postgres(_) => url.to_string(),
    }
}
