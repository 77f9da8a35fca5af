//! Opening the archive that an URL names, and the names under which it knows a session.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::anyhow;

use super::error::CommandError;
use super::input::Input;
use crate::archive::{self, Archive, ArchiveUrl};

/// Opens the archive at `url`, which is made where there is none yet.
pub(super) fn open(url: &str) -> Result<Box<dyn Archive>, CommandError> {
    let url: ArchiveUrl = url.parse().map_err(CommandError::config)?;
    Ok(archive::open(&url)?)
}

/// Opens the archive at `url` to read from it: looking makes none.
pub(super) fn open_existing(url: &str) -> Result<Box<dyn Archive>, CommandError> {
    let url: ArchiveUrl = url.parse().map_err(CommandError::config)?;
    archive::open_existing(&url)?.ok_or_else(|| {
        let place = match &url {
            ArchiveUrl::Sqlite(path) => path.display().to_string(),
            ArchiveUrl::Memory | ArchiveUrl::Postgres(_) => url.to_string(),
        };
        CommandError::from(anyhow!("open the archive {place}: there is none"))
            .hint("name the archive that was written to with --archive, or set CTXC_ARCHIVE")
    })
}

/// The sessions under which the operation that made `file` may be listed: by its name, and by its last entry.
pub(super) fn sessions(file: &mut File, path: Option<&Path>) -> io::Result<Vec<String>> {
    let stem = path.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    Ok(stem.into_iter().chain(last_session(file)?).collect::<BTreeSet<_>>().into_iter().collect())
}

/// The session of the last entry that names one, looked for near the end of the file.
pub(super) fn last_session(file: &mut File) -> io::Result<Option<String>> {
    const TAIL: u64 = 64 * 1024;
    const KEY: &[u8] = b"\"sessionId\":\"";
    let start = file.metadata()?.len().saturating_sub(TAIL);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut tail)?;
    let id =
        memchr::memmem::rfind(&tail, KEY).and_then(|at| tail.get(at + KEY.len()..)?.split(|byte| *byte == b'"').next());
    Ok(id.map(|id| String::from_utf8_lossy(id).into_owned()))
}

/// The names of the session in `input`, under which operations may be listed.
pub(super) fn session_names(input: &mut Input) -> Result<Vec<String>, CommandError> {
    Ok(sessions(&mut input.file, input.path.as_deref())?)
}
