//! The lines that edits are rendered from, in a file of their own.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::{Active, Inserted, Layout, State, Step, Sum, Version, VersionError};
use ctxc_store::{Archive, ArchiveError};
use ctxc_transcript::LineReader;
use ctxc_transcript::edit::{Splice, render};
use ctxc_transcript::scan::Scan;
use ctxc_transcript::text::json_string;

use super::title::{title_in, title_line};

/// The lines of a session with those that operations inserted.
#[derive(Debug)]
pub struct Base {
    /// The file, at its beginning.
    pub file: File,
    /// Which line stands where.
    pub layout: Layout,
    /// Whether the file is the session file itself, and not a temporary one.
    pub is_source: bool,
}

/// Lines at the end of a file that the archive does not have yet.
#[derive(Clone, Debug)]
pub struct Tail<'a> {
    /// The file.
    pub file: &'a File,
    /// The entries before them that closed an open tool loop, without their ends.
    pub closing: Vec<Vec<u8>>,
    /// The offset of the first of them.
    pub start: u64,
    /// Their number.
    pub n_lines: u32,
}

impl Base {
    /// The lines of `state` from the archive and those of `tail` behind them, with those that `active` insert.
    ///
    /// # Errors
    /// When the archive or the file cannot be read, or the base not be written.
    pub fn read(
        archive: &dyn Archive,
        state: &State,
        tail: Option<Tail<'_>>,
        active: &[Active<'_>],
    ) -> Result<Self, VersionError> {
        let n_tail = tail.as_ref().map_or(0, |tail| tail.n_lines + u32::try_from(tail.closing.len()).unwrap_or(0));
        let mut assembly = Assembly::new(Layout::new(state.n_lines() + n_tail, active))?;
        archive.each_line(&state.lines, &mut |_, bytes| {
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            assembly.line(bytes).map_err(|source| ArchiveError::Give { source })
        })?;
        let mut ends_line = state.ends_line;
        if !state.torn.is_empty() {
            assembly.line(&state.torn)?;
            ends_line = false;
        }
        if let Some(mut tail) = tail.filter(|tail| tail.n_lines > 0) {
            tail.closing.iter().try_for_each(|line| assembly.line(line))?;
            tail.file.seek(SeekFrom::Start(tail.start))?;
            ends_line = assembly.lines(tail.file)?;
        }
        assembly.finish(ends_line)
    }

    /// The lines of `file`, which are `n_lines`, with those that `active` insert. Without any of these the base is `file`.
    ///
    /// # Errors
    /// When the file cannot be read, or the base not be written.
    pub fn of_file(mut file: &File, n_lines: u32, active: &[Active<'_>]) -> Result<Self, VersionError> {
        let layout = Layout::new(n_lines, active);
        if layout.groups().is_empty() {
            return Ok(Self { file: file.try_clone()?, layout, is_source: true });
        }
        let mut assembly = Assembly::new(layout)?;
        file.rewind()?;
        let ends_line = assembly.lines(file)?;
        assembly.finish(ends_line)
    }
}

/// A base while it is written.
struct Assembly {
    file: BufWriter<File>,
    layout: Layout,
    next_line: u32,
    next_group: usize,
    /// Whether the last line has to be ended before anything else comes.
    is_open: bool,
}

impl Assembly {
    fn new(layout: Layout) -> io::Result<Self> {
        let file = BufWriter::with_capacity(256 * 1024, tempfile::tempfile()?);
        Ok(Self { file, layout, next_line: 0, next_group: 0, is_open: false })
    }

    /// Takes the next line, without its end.
    fn line(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.insert()?;
        self.put(bytes)?;
        self.next_line += 1;
        Ok(())
    }

    /// Takes the rest of `file`; whether its last line has an end.
    fn lines(&mut self, file: &File) -> io::Result<bool> {
        let mut lines = LineReader::new(file);
        let mut ends_line = true;
        while let Some(line) = lines.next_line()? {
            let text = line.strip_suffix(b"\n");
            ends_line = text.is_some();
            self.line(text.unwrap_or(line))?;
        }
        Ok(ends_line)
    }

    fn insert(&mut self) -> io::Result<()> {
        let next = self.next_line;
        while let Some(group) = self.layout.groups().get(self.next_group).filter(|group| group.before <= next) {
            let lines = group.lines.clone();
            for line in &lines {
                self.put(line.as_bytes())?;
            }
            self.next_group += 1;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.is_open, true) {
            self.file.write_all(b"\n")?;
        }
        self.file.write_all(bytes)
    }

    fn finish(mut self, ends_line: bool) -> Result<Base, VersionError> {
        let n_groups = self.layout.groups().len();
        let has_more = self.next_group < n_groups;
        self.next_line = u32::MAX;
        self.insert()?;
        if self.is_open && (ends_line || has_more) {
            self.file.write_all(b"\n")?;
        }
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Base { file, layout: self.layout, is_source: false })
    }
}

impl Version {
    /// Writes the file that the version was rendered to.
    ///
    /// # Errors
    /// When the archive cannot be read, what it has does not fit together, or `out` fails.
    pub fn write(&self, archive: &dyn Archive, out: &mut dyn Write) -> Result<(), VersionError> {
        self.write_under(archive, self.session.as_deref(), out)
    }

    /// As [`Self::write`], of which all lines get the session id `session`; without one, those that the stored lines have.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_under(
        &self,
        archive: &dyn Archive,
        session: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<(), VersionError> {
        let state = State::read(archive, self.state)?;
        let mut steps = Steps { all: &self.steps, at: 0, taken: 0 };
        let n_lines = state.lines.len();
        let mut line = 0;
        let mut sink = Sink { out, session, pending_end: false };
        archive.each_line(&state.lines, &mut |_, bytes| {
            line += 1;
            let is_open = line == n_lines && state.torn.is_empty() && !state.ends_line;
            let written = steps.line(bytes, is_open, &mut sink);
            written.map_err(|source| ArchiveError::Give { source })
        })?;
        if !state.torn.is_empty() {
            steps.line(&state.torn, true, &mut sink)?;
        }
        steps.inserts(&mut sink)?;
        if steps.at != self.steps.len() {
            return Err(VersionError::NotWhatWasKept(self.key()));
        }
        sink.out.flush()?;
        Ok(())
    }
}

impl State {
    /// Writes its lines, all of them under the session id `session` where one is given.
    ///
    /// # Errors
    /// As [`Version::write`].
    pub(super) fn write_under(
        &self,
        archive: &dyn Archive,
        session: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<(), VersionError> {
        let steps = vec![Step::Keep(self.n_lines())];
        Version::new(self.key(), Vec::new(), steps, &Sum::default(), 0).write_under(archive, session, out)
    }
}

/// The steps of a version, one stored line after the other.
struct Steps<'a> {
    all: &'a [Step],
    at: usize,
    /// The number of lines taken from the step at `at`.
    taken: u32,
}

impl Steps<'_> {
    /// Writes what stands before the next stored line.
    fn inserts(&mut self, sink: &mut Sink<'_>) -> io::Result<()> {
        while let Some(Step::Insert(from, line)) = self.all.get(self.at) {
            match (from, sink.session) {
                (Inserted::Title, Some(id)) => {
                    let title = title_in(line).unwrap_or_default();
                    sink.line(title_line(id, &title).as_bytes(), false)?;
                }
                _ => sink.rendered(line, &[], false)?,
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Writes what becomes of the next stored line.
    fn line(&mut self, bytes: &[u8], is_open: bool, sink: &mut Sink<'_>) -> io::Result<()> {
        self.inserts(sink)?;
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let n = match self.all.get(self.at) {
            Some(Step::Keep(n)) => {
                sink.rendered(text, &[], is_open)?;
                *n
            }
            Some(Step::Edit(splices)) => {
                sink.rendered(text, splices, is_open)?;
                1
            }
            Some(Step::Drop(n)) => *n,
            Some(Step::Insert(..)) | None => return Err(io::Error::other("more lines than steps")),
        };
        self.taken += 1;
        if self.taken >= n {
            self.at += 1;
            self.taken = 0;
        }
        Ok(())
    }
}

struct Sink<'a> {
    out: &'a mut dyn Write,
    session: Option<&'a str>,
    /// Whether the last line still lacks its end.
    pending_end: bool,
}

impl Sink<'_> {
    fn rendered(&mut self, text: &[u8], splices: &[Splice], is_open: bool) -> io::Result<()> {
        if splices.is_empty() && self.session.is_none() {
            return self.line(text, is_open);
        }
        let mut splices = splices.to_vec();
        let session =
            self.session.and_then(|id| Some(Splice::new(Scan::of(text).session_id?, json_string::encode(id))));
        splices.extend(session);
        let rendered = render(text, &splices).map_err(io::Error::other)?;
        self.line(&rendered, is_open)
    }

    fn line(&mut self, text: &[u8], is_open: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.pending_end, is_open) {
            self.out.write_all(b"\n")?;
        }
        self.out.write_all(text)?;
        if is_open { Ok(()) } else { self.out.write_all(b"\n") }
    }
}
