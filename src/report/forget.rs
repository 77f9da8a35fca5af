//! The result of `ctxc forget`, as data and as text (N-12).

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::size::counted;
use ctxc_core::version::Purged;

/// The places where a text was masked, or would be.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct ForgetReport {
    archive: String,
    /// Whether this is a dry run.
    pub(crate) dry_run: bool,
    lines: u64,
    objects: u64,
    operations: u64,
    records: u64,
    /// Results and backups that ctxc wrote.
    pub(crate) files: Vec<MaskedFile>,
    /// Temporary files of commands that were killed; they are removed.
    pub(crate) leftovers: Vec<String>,
    /// Files of the client that contain the text; they are not changed.
    pub(crate) left: Vec<MaskedFile>,
    /// Archives that a repair put aside; they may contain the text, and are not changed.
    pub(crate) damaged_archives: Vec<String>,
    /// Entries that masking would turn into others, so that they were not masked.
    pub(crate) unmasked: u64,
}

/// A file that contains the text.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct MaskedFile {
    /// Its path.
    pub(crate) path: String,
    /// The number of lines that contain the text.
    pub(crate) lines: u64,
}

impl MaskedFile {
    /// The file at `path` with the number of `lines` that contain the text.
    pub(crate) fn new(path: &Path, lines: u64) -> Self {
        Self { path: path.display().to_string(), lines }
    }
}

impl ForgetReport {
    /// The report of the purge of the archive at the URL `archive`.
    pub(crate) fn new(archive: String, purged: Purged, dry_run: bool) -> Self {
        let Purged { lines, objects, operations, records } = purged;
        Self {
            archive,
            dry_run,
            lines,
            objects,
            operations,
            records,
            files: Vec::new(),
            leftovers: Vec::new(),
            left: Vec::new(),
            damaged_archives: Vec::new(),
            unmasked: 0,
        }
    }

    /// Whether there is nothing to purge.
    pub(crate) fn is_nothing(&self) -> bool {
        self.lines + self.objects + self.operations + self.records == 0
            && self.files.is_empty()
            && self.leftovers.is_empty()
    }
}

impl fmt::Display for ForgetReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.dry_run { "would mask" } else { "masked" };
        write!(
            f,
            "{done}    {}, {}, {}, and {} in {}",
            counted(self.lines, "line"),
            counted(self.objects, "edit or version").replace("edit or versions", "edits or versions"),
            counted(self.operations, "command"),
            counted(self.records, "record"),
            self.archive
        )?;
        for MaskedFile { path, lines } in &self.files {
            write!(f, "\n{done}    {} in {path}", counted(*lines, "line"))?;
        }
        for path in &self.leftovers {
            write!(f, "\n{}   {path}", if self.dry_run { "would remove" } else { "removed" })?;
        }
        for MaskedFile { path, lines } in &self.left {
            write!(f, "\nunchanged {} in {path}", counted(*lines, "line"))?;
        }
        for path in &self.damaged_archives {
            write!(f, "\nunchanged {path}")?;
        }
        Ok(())
    }
}
