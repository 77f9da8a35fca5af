//! The outcome of an installation, file by file.

use std::path::PathBuf;

use serde::Serialize;

/// The outcome for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileOutcome {
    /// The file is new.
    Written,
    /// The file had other content.
    Replaced,
    /// The file has this content already.
    Unchanged,
    /// The file is removed.
    Removed,
}

/// A file of the plugin or of the client, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TouchedFile {
    pub(crate) path: PathBuf,
    pub(crate) fate: FileOutcome,
}

/// The choice between writing files and a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMode {
    Write,
    Preview,
}
