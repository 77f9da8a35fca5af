//! `ctxc gain`: show the savings and the cost of operations (W-08).

use std::collections::HashSet;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::cli::args::ArchiveIfAny;
use crate::cli::context::Context;
use crate::report::gain::Gain;
use crate::session::archives;
use crate::session::error::CommandError;
use crate::session::quantity::age;
use ctxc_core::version::Edits;
use ctxc_store::{Archive, Operation, Operations, hide_password};

pub(crate) const EXAMPLES: &str = "\
Saved: by how much each operation shrank the context, counted once; undone operations count as zero. Re-cached: tokens \
that the API had to cache again as a result. Both are estimates.

Examples:
  ctxc gain
  ctxc gain --since 4w --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the last AGE: 12h, 30d, 8w
    #[arg(long, value_name = "AGE", value_parser = age)]
    since: Option<SignedDuration>,
    #[command(flatten)]
    archive: ArchiveIfAny,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), CommandError> {
    let ui = context.ui;
    let url = args.archive.url(context.environment)?;
    context.probe_report(None)?;
    let since = args.since.and_then(|age| Timestamp::now().checked_sub(age).ok());
    let mut gain = Gain::new(hide_password(&url), since, ui.look());
    if let Some(archive) = archives::open_if_there(&url)? {
        let operations = archive.operations(Operations::All)?;
        let (undone, undoing) = undone(&*archive, &operations);
        // An undo saves nothing, and the operation that it undoes does not count as a saving.
        let counted = operations.iter().filter(|it| it.changes() && !undoing.contains(it.id.as_str()));
        for operation in counted.filter(|it| since.is_none_or(|since| it.time >= since)) {
            gain.add(operation, &project(operation), undone.contains(&operation.id));
        }
    }
    context.print(&gain, &gain)?;
    if gain.is_empty() {
        ui.status("no operation recorded: nothing saved, nothing spent");
    }
    Ok(())
}

/// The ids of the undone operations, and of the undo operations. Operations of an archive without complete sessions undo
/// nothing.
fn undone<'a>(archive: &dyn Archive, operations: &'a [Operation]) -> (HashSet<String>, HashSet<&'a str>) {
    let (mut undone, mut undoing) = (HashSet::new(), HashSet::new());
    // Newest first, since an undone undo has no effect.
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

/// The project folder of the session of an operation.
fn project(operation: &Operation) -> String {
    let path = operation.source.path.as_deref().or(operation.output.path.as_deref());
    let folder = path.and_then(Path::parent).and_then(Path::file_name);
    folder.map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned())
}
