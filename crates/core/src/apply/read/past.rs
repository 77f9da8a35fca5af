//! Finds text that ctxc removed from a session before the archive knew it (N-05): a fork that a client made of a result, or
//! one whose lines went to another archive, or to none.

use std::fs::File;
use std::io::{self, Seek};

use super::document::scanned_texts;
use super::placeholder::is_whole_placeholder;
use crate::version::{SessionState, VersionError};
use ctxc_store::Archive;
use ctxc_transcript::LineReader;
use ctxc_transcript::scan::Scan;

/// A part of every line with a placeholder. JSON escapes none of its characters.
const MARK: &[u8] = b"[ctxc";

/// Whether a whole block of `file` is a placeholder.
///
/// # Errors
/// When reading fails.
pub fn has_placeholder(mut file: &File) -> io::Result<bool> {
    file.rewind()?;
    let finder = memchr::memmem::Finder::new(MARK);
    let mut lines = LineReader::new(file);
    while let Some(line) = lines.next_line()? {
        if finder.find(line).is_some() && holds_placeholder(line) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// As [`has_placeholder`], of the lines that `state` has of a source.
///
/// # Errors
/// When the archive cannot be read.
pub fn state_has_placeholder(archive: &dyn Archive, state: &SessionState) -> Result<bool, VersionError> {
    let finder = memchr::memmem::Finder::new(MARK);
    let mut runs = state.line_origins();
    let mut is_found = false;
    archive.each_line(&state.lines, &mut |_, line| {
        let is_of_source = runs.next().is_some_and(|under| under.is_none());
        is_found = is_found || is_of_source && finder.find(line).is_some() && holds_placeholder(line);
        Ok(())
    })?;
    Ok(is_found)
}

fn holds_placeholder(line: &[u8]) -> bool {
    scanned_texts(&Scan::of(line), line).iter().any(|said| is_whole_placeholder(&said.text))
}
