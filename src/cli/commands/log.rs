//! `ctxc log`: show the operation history of a session.

use crate::cli::args::{ArchiveArg, SessionArg};
use crate::cli::context::Context;
use crate::report::archive::Log;
use crate::report::envelope::About;
use crate::session::archives;
use crate::session::error::CommandError;
use crate::session::reading::Reading;
use ctxc_core::version::Version;
use ctxc_store::hide_password;
use ctxc_transcript::text::Digest;

pub(crate) const EXAMPLES: &str = "\
Lists the operations that led to the session, newest first, with the ids for `ctxc undo --op`.

Examples:
  ctxc log latest
  ctxc log smaller.jsonl --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    #[command(flatten)]
    archive: ArchiveArg,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), CommandError> {
    let ui = context.ui;
    let source = args.session.find(context)?;
    let url = args.archive.url(context.environment)?;
    context.probe_report(source.path())?;
    let mut reading = Reading::of(&source, ui)?;
    let mut lineage = Vec::new();
    let archive = archives::open_if_there(&url)?;
    let has_archive = archive.is_some();
    if let Some(archive) = archive {
        reading.recognise(&*archive)?;
        for operation in reading.past.history.operations().iter().rev() {
            lineage.extend(archive.find_operation(&operation.operation)?);
        }
    }
    let version = reading.past.known.as_ref().and_then(|known| known.version.as_ref());
    let now = version.filter(|_| reading.n_new() == 0).map_or_else(|| Digest::of(b""), Version::key);
    let log = Log::new(reading.session(), now, &lineage, &reading.past.history);
    context.print_about(About::Session(&log.read), &log, log.text(ui.look()))?;
    if lineage.is_empty() {
        ui.status(format_args!("ctxc has not changed {}", log.read.label()));
        if !has_archive {
            ui.hint(format_args!("there is no archive at {}; use --archive if another was used", hide_password(&url)));
        }
    }
    Ok(())
}
