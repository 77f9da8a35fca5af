//! Where the results of a batch go, and which of them are there already.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};

use crate::session::error::CommandError;
use crate::terminal::ui::Ui;
use ctxc_transcript::text::printable;

/// The same for a file that its owner alone can read, if it is made.
#[cfg(unix)]
fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

/// Elsewhere a file has the rights of its folder.
#[cfg(not(unix))]
fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// What stands in front of each result.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct BatchKey {
    /// The session as it was named; null for a line that names none.
    pub(super) path: Option<String>,
    /// Names the content, the command and its options; null for a failure, which a rerun tries again.
    pub(super) key: Option<String>,
}

/// Where results go.
pub(super) enum Results<'a> {
    /// To standard output.
    Printed(&'a Ui),
    /// To the end of a file.
    Kept(File),
}

#[derive(Deserialize)]
struct Line {
    batch: BatchKey,
}

impl<'a> Results<'a> {
    /// A way to standard output, or to the file `path`, and the keys of what that has already.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn open(path: Option<&Path>, ui: &'a Ui) -> Result<(Self, HashSet<String>), CommandError> {
        let Some(path) = path else { return Ok((Self::Printed(ui), HashSet::new())) };
        let place = || format!("use the results in {}", path.display());
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        // They hold texts of sessions.
        let mut file = for_owner_alone(&mut options).open(path).with_context(place)?;
        // A device could be read without an end.
        if !file.metadata().with_context(place)?.is_file() {
            return Err(CommandError::usage(anyhow!("{} is not a regular file", path.display()))
                .hint("omit --results to print the results"));
        }
        let mut keys = HashSet::new();
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).with_context(place)? > 0 {
            // A line that is torn is no result; neither is what somebody else wrote.
            keys.extend(serde_json::from_slice(&line).ok().and_then(|Line { batch }| batch.key));
            line.clear();
        }
        end_line(&mut file).with_context(place)?;
        Ok((Self::Kept(file), keys))
    }

    /// Adds one result, which is a JSON object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(&mut self, batch: &BatchKey, result: &str) -> Result<(), CommandError> {
        let own = result.trim_end().strip_prefix('{').unwrap_or_default();
        let line = format!("{{\"batch\":{},{own}\n", serde_json::to_string(batch)?);
        match self {
            Self::Printed(ui) => Ok(ui.data(line)?),
            // In one call, so that a crash leaves at most the last line torn.
            Self::Kept(file) => Ok(file.write_all(printable(&line).as_bytes()).context("write the results")?),
        }
    }
}

/// Ends the last line of `file` where a crash has torn it.
fn end_line(file: &mut File) -> std::io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}
