//! Opening a session to read: a file as it is, anything that cannot be read twice through a temporary file.
//!
//! The reader takes two passes (T-02), so what comes in has to be a regular file that can seek.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::error::CommandError;
use crate::terminal::interrupt::while_waiting;
use ctxc_transcript::foreign;
use ctxc_transcript::foreign::Foreign;
use ctxc_transcript::session::Found;

/// A session that is open for reading, at its beginning.
#[derive(Debug)]
pub(crate) struct Input {
    /// A regular file: the session's own, or a temporary one with what came through a pipe.
    pub(crate) file: File,
    /// Where the session is; nothing for standard input.
    pub(crate) path: Option<PathBuf>,
}

impl Input {
    /// Its name in messages: its path, or `standard input`.
    pub(crate) fn name(&self) -> String {
        name_of(self.path.as_deref())
    }
}

/// Opens what a SESSION argument stands for.
///
/// # Errors
/// When it cannot be read, or is the session of another agent.
pub(crate) fn open(found: &Found) -> Result<Input, CommandError> {
    let path = match found {
        Found::StandardInput => None,
        Found::File { path, .. } => Some(path.clone()),
    };
    let (mut file, is_spooled) =
        open_file(path.as_deref()).with_context(|| format!("read {}", name_of(path.as_deref())))?;
    let owner = owner(&mut file).with_context(|| format!("read {}", name_of(path.as_deref())))?;
    match owner {
        Some(foreign) => Err(CommandError::from(anyhow!(
            "{} is a {foreign} session, not a Claude Code one",
            name_of(path.as_deref())
        ))
        .hint("only Claude Code sessions are supported")),
        // What came through a pipe has no place of its own.
        None => Ok(Input { file, path: path.filter(|_| !is_spooled) }),
    }
}

fn name_of(path: Option<&Path>) -> String {
    path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
}

fn open_file(path: Option<&Path>) -> io::Result<(File, bool)> {
    let Some(path) = path else { return Ok((while_waiting(|| spool(io::stdin().lock()))?, true)) };
    if std::fs::metadata(path)?.is_file() {
        return Ok((File::open(path)?, false));
    }
    // A named pipe or `<(command)` has a path and can be read only once. Nobody may ever write to it.
    Ok((while_waiting(|| spool(File::open(path)?))?, true))
}

/// All of `input` in a file that has no name and goes when it is closed.
fn spool(mut input: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// Whose session `file` is, if another agent's. Leaves the file at its beginning.
fn owner(file: &mut File) -> io::Result<Option<Foreign>> {
    // At its full size from the start: growing costs more than reading.
    let mut head = Vec::with_capacity(foreign::HEAD);
    file.take(foreign::HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(foreign::recognise(&head))
}
