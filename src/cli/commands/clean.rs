//! `ctxc clean`: remove versions and backups that ctxc made and that nothing needs (N-12).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use jiff::{SignedDuration, Timestamp};

use crate::cli::backups::backups_of;
use crate::cli::error::{CommandError, Completion};
use crate::cli::settings::{Mode, Reporting};
use crate::cli::stored;
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::clean::{CleanReport, What};
use ctxc_core::apply::remove_made;
use ctxc_core::version::recognise;
use ctxc_store::{Archive, Operations};
use ctxc_transcript::Index;
use ctxc_transcript::session::{session_id, sidecar_dir};
use ctxc_transcript::text::Stopped;

/// What to remove.
#[derive(Debug)]
pub(crate) struct Settings {
    /// For how long a file was not written to.
    pub(crate) age: SignedDuration,
    /// The URL of the archive.
    pub(crate) archive: String,
    pub(crate) mode: Mode,
    pub(crate) is_confirmed: bool,
    pub(crate) reporting: Reporting,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    tell::probe(&settings.reporting, &[])?;
    let archive = stored::open_existing(&settings.archive)?;
    let before = Timestamp::now().checked_sub(settings.age).unwrap_or(Timestamp::MIN);
    let mut report = CleanReport::new(true);
    for (path, what) in candidates(&*archive)? {
        Stopped::check(ui.stop())?;
        let metadata = fs::metadata(&path).with_context(|| format!("read {}", path.display()))?;
        let is_old = metadata.modified().is_ok_and(|modified| modified < SystemTime::from(before));
        if is_old && archive_has(&*archive, &path)? {
            report.add(&path, what, metadata.len());
        }
    }
    if settings.mode == Mode::Show || report.files.is_empty() {
        tell(&settings.reporting, ui, &report, format_args!("{report}\n"))?;
        return Ok(Completion::Full);
    }
    if !settings.is_confirmed {
        ui.status(&report);
        match ui.confirm("remove them? The archive keeps what they hold.")? {
            Some(true) => {}
            Some(false) => {
                ui.status("nothing was removed");
                return Ok(Completion::Full);
            }
            None => {
                return Err(CommandError::usage(anyhow!("--yes is required to remove files without a terminal"))
                    .hint("use --dry-run to see what would be removed"));
            }
        }
    }
    report.dry_run = false;
    for file in &report.files {
        let path = Path::new(&file.path);
        let folder = (file.what == What::Version && session_id(path).is_some()).then(|| sidecar_dir(path));
        remove_made(path, folder.as_deref()).with_context(|| format!("remove {}", path.display()))?;
    }
    tell(&settings.reporting, ui, &report, format_args!("{report}\n"))?;
    Ok(Completion::Full)
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
