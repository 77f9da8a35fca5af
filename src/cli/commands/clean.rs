//! `ctxc clean`: remove versions and backups that ctxc made and that nothing needs (N-12).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use crate::cli::args::RemovalArgs;
use crate::cli::context::Context;
use crate::report::clean::{CleanReport, What};
use crate::session::archives;
use crate::session::backups::backups_of;
use crate::session::error::CommandError;
use crate::session::options::Mode;
use crate::session::quantity::age;
use ctxc_core::apply::remove_made;
use ctxc_core::version::recognise;
use ctxc_store::{Archive, Operations};
use ctxc_transcript::Index;
use ctxc_transcript::session::{session_id, sidecar_dir};
use ctxc_transcript::text::Stopped;

pub(crate) const EXAMPLES: &str = "\
Removes sessions that ctxc wrote, and backups of those it replaced, if the archive has their full content. Keeps \
sessions that were continued, sources of other sessions, and the only file of a conversation.

Examples:
  ctxc clean --dry-run
  ctxc clean --older-than 7d
  ctxc clean --older-than 90d --yes";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only files older than AGE: 12h, 30d, 8w, 1y
    #[arg(long, value_name = "AGE", value_parser = age, default_value = "30d")]
    older_than: SignedDuration,
    #[command(flatten)]
    removal: RemovalArgs,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), CommandError> {
    let ui = context.ui;
    let url = args.removal.archive.url(context.environment)?;
    context.probe_report(None)?;
    let archive = archives::open_existing(&url)?;
    let before = Timestamp::now().checked_sub(args.older_than).unwrap_or(Timestamp::MIN);
    let mut report = CleanReport::new(true);
    for (path, what) in candidates(&*archive)? {
        Stopped::check(ui.stop())?;
        let metadata = fs::metadata(&path).with_context(|| format!("read {}", path.display()))?;
        let is_old = metadata.modified().is_ok_and(|modified| modified < SystemTime::from(before));
        if is_old && archive_has(&*archive, &path)? {
            report.add(&path, what, metadata.len());
        }
    }
    if args.removal.mode() == Mode::Show || report.files.is_empty() {
        return context.print(&report, format_args!("{report}\n"));
    }
    if !args.removal.yes {
        ui.status(&report);
        let question = "remove them? The archive keeps what they hold.";
        if !context.confirm(question, "remove files", "use --dry-run to see what would be removed")? {
            ui.status("nothing was removed");
            return Ok(());
        }
    }
    report.dry_run = false;
    for file in &report.files {
        let path = Path::new(&file.path);
        let folder = (file.what == What::Version && session_id(path).is_some()).then(|| sidecar_dir(path));
        remove_made(path, folder.as_deref()).with_context(|| format!("remove {}", path.display()))?;
    }
    context.print(&report, format_args!("{report}\n"))
}

/// The files that ctxc made: sessions that are not the only one of their conversation, and backups beside what it replaced.
fn candidates(archive: &dyn Archive) -> Result<BTreeMap<PathBuf, What>, CommandError> {
    let operations = archive.operations(Operations::All)?;
    // What something else was made from is part of how that came to be.
    let sources: BTreeSet<&Path> = operations.iter().filter_map(|it| it.source.path.as_deref()).collect();
    let mut found = BTreeMap::new();
    for operation in &operations {
        let (Some(source), Some(output)) = (&operation.source.path, &operation.output.path) else { continue };
        if source == output {
            found.extend(backups_of(output).into_iter().map(|path| (path, What::Backup)));
        } else if output.is_file() && source.is_file() && !sources.contains(output.as_path()) {
            found.insert(output.clone(), What::Version);
        }
    }
    // A link is its user's.
    found.retain(|path, _| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()));
    Ok(found)
}

/// Whether the archive recognises the whole file, so that nobody went on in it and everything in it can be restored.
fn archive_has(archive: &dyn Archive, path: &Path) -> Result<bool, CommandError> {
    let file = File::open(path).with_context(|| format!("read {}", path.display()))?;
    let index = Index::build(&file).with_context(|| format!("read {}", path.display()))?;
    let (_, known) = recognise(archive, &file, &index)?;
    Ok(known.is_some_and(|known| known.n_lines == index.n_lines()))
}
