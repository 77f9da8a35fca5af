//! Reading a transcript to its end: the index and the live chain, with progress where it takes long.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use jiff::Timestamp;

use super::error::CommandError;
use super::figures::{self, Inherited};
use super::input::{self, Input};
use crate::report::overview::Origin;
use crate::report::session::SessionRef;
use crate::report::size::count;
use crate::session::archives;
use crate::terminal::progress::Progress;
use crate::terminal::ui::Ui;
use ctxc_core::apply;
use ctxc_core::apply::{Draft, Lines, Made, RewriteSource, SourceState, recorded_context, title_of};
use ctxc_core::version;
use ctxc_core::version::{Edit, Edits, History, Known};
use ctxc_store::{Archive, operation_id};
use ctxc_transcript::scan::each_field;
use ctxc_transcript::session::{Found, FoundBy, session_id};
use ctxc_transcript::text::{Digest, Stopped, Tokens, json_string};
use ctxc_transcript::{Calibration, Chain, ChainEnd, Flags, Index, Transcript, read_line};

/// A transcript that has been indexed.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The file, to be read again.
    pub(crate) file: File,
    /// What messages call it.
    pub(crate) name: String,
    /// Where it is; nothing for standard input.
    pub(crate) path: Option<PathBuf>,
    /// Its name without the ending, which is the session's id where the client wrote it.
    pub(crate) stem: Option<String>,
    pub(crate) index: Index,
    pub(crate) chain: Chain,
    /// What the archive knows of it.
    pub(crate) past: KnownPast,
    /// The figures of what it was made from, once an archive was asked.
    pub(crate) inherited: Option<Inherited>,
    /// The usage that the client recorded last, where ctxc has lowered it since, once an archive was asked.
    pub(crate) lowered_from: Option<Tokens>,
    /// The session itself, where all this is of a draft: what a plan has made of it so far.
    pub(crate) drafted: Option<Drafted>,
}

/// What the archive knows of a session, and what is planned for it.
#[derive(Debug)]
pub(crate) struct KnownPast {
    /// Which session it is; `None` for one that the archive does not have.
    pub(crate) known: Option<Known>,
    /// The operations that it was rendered with, and those that it is to be rendered with as well.
    pub(crate) history: History,
    /// Which lines of the session those of the file are.
    pub(crate) lines: Lines,
    /// The id of the operation that is planned.
    pub(crate) operation: String,
    /// Its edits so far, as the draft has them.
    pub(crate) pending: Vec<Edit>,
    /// Operations that the archive does not have yet, before the one that is planned.
    pub(crate) unsaved: Vec<Edits>,
}

/// The session of which a draft was made.
#[derive(Debug)]
pub(crate) struct Drafted {
    pub(crate) file: File,
    pub(crate) index: Index,
    pub(crate) before: SourceState,
}

impl Reading {
    /// A file of which no line is an entry is no transcript at all.
    fn refuse_unless_transcript(&self) -> Result<(), CommandError> {
        let has = |flag| self.index.records.iter().any(|record| record.flags.any(flag));
        if has(Flags::ENTRY) || !has(Flags::MALFORMED) {
            return Ok(());
        }
        let (name, n_lines) = (&self.name, self.index.records.len());
        let mut file = &self.file;
        let mut start = [0; 4];
        let n_read = file.rewind().and_then(|()| file.read(&mut start)).with_context(|| format!("read {name}"))?;
        let unpack = |program: &str| format!("unpack it first: {program} {name} | ctxc stats -");
        let (is, hint) = match start.get(..n_read).unwrap_or_default() {
            [0x1f, 0x8b, ..] => ("is compressed by gzip".to_owned(), unpack("gzip -dc")),
            [0x28, 0xb5, 0x2f, 0xfd] => ("is compressed by zstd".to_owned(), unpack("zstd -dc")),
            start => {
                let is = match start {
                    [b'[', ..] => "is a JSON array".to_owned(),
                    _ => format!("is not a transcript: none of its {n_lines} lines is a JSON object"),
                };
                (is, "use a Claude Code session: a .jsonl file with one JSON object per line".to_owned())
            }
        };
        Err(CommandError::from(anyhow!("{name} {is}")).hint(hint))
    }

    /// Warns of a conversation that does not go back to its beginning, or not on to its end.
    pub(crate) fn warn_of_chain(&self, ui: &Ui) {
        let name = &self.name;
        match self.chain.end {
            ChainEnd::MissingParent(line) if line.0 > 0 => ui.warning(format_args!(
                "{name}:{}: the conversation starts here: the parent of this entry is missing",
                line.number()
            )),
            ChainEnd::Cycle(line) => {
                ui.warning(format_args!(
                    "{name}:{}: the conversation starts here: the parents form a cycle",
                    line.number()
                ));
            }
            _ => {}
        }
        if let Some(line) = self.chain.newest_elsewhere {
            ui.warning(format_args!("{name}:{}: the newest message is not among the active entries", line.number()));
        }
    }

    /// Says that thinking is left out of all figures which a resume does not send, where there is some.
    pub(crate) fn note_unsent_thinking(&self, ui: &Ui) {
        let thinking = self.chain.lines.iter().filter_map(|&line| self.index.thinking_of(line)?.unsent);
        let unsent: Tokens = thinking.map(|tokens| Tokens(tokens.into())).sum();
        if let Some(model) = self.index.resuming_model(&self.chain).filter(|_| unsent > Tokens::ZERO) {
            let Tokens(unsent) = self.calibration().scale(unsent);
            ui.status(format_args!(
                "thinking  {} tokens of other models are not counted, since {model} resumes the session",
                count(unsent)
            ));
        }
    }

    /// Opens and indexes what a SESSION argument stands for.
    pub(crate) fn of(found: &Found, ui: &Ui) -> Result<Self, CommandError> {
        let input = input::open(found)?;
        let len = input.file.metadata().map_or(0, |metadata| metadata.len());
        // To its end, wherever that is by then.
        let reading = Self::of_input(input, u64::MAX, len, ui)?;
        reading.say_found(found, ui);
        Ok(reading)
    }

    /// The transcript as functions take it that read one.
    pub(crate) const fn transcript(&self) -> Transcript<'_> {
        Transcript { file: &self.file, index: &self.index, chain: &self.chain }
    }

    /// What was `done` with the session, whose error names it.
    ///
    /// # Errors
    /// When it failed.
    pub(crate) fn named<T>(&self, done: Result<T, impl Into<anyhow::Error>>) -> Result<T, CommandError> {
        done.map_err(|error| error.into().context(format!("read {}", self.name)).into())
    }

    /// Says which session it is, where it was not named.
    fn say_found(&self, found: &Found, ui: &Ui) {
        let Found::File { path, by } = found else { return };
        match by {
            FoundBy::Path | FoundBy::Id => ui.detail(format_args!("reading {}", path.display())),
            FoundBy::LatestHere => ui.status(format_args!("session   {}", self.session().label())),
            FoundBy::LatestAnywhere => {
                ui.status(format_args!("session   {}, of another project", self.session().label()));
            }
        }
    }

    /// As [`Self::of`], of the first `len` bytes of a file.
    pub(crate) fn of_part(input: Input, len: u64, ui: &Ui) -> Result<Self, CommandError> {
        Self::of_input(input, len, len, ui)
    }

    fn of_input(mut input: Input, limit: u64, len: u64, ui: &Ui) -> Result<Self, CommandError> {
        let name = input.name();
        let reader = (&mut input.file).take(limit);
        let mut watched = ProgressReader { reader, stop: ui.stop(), progress: Progress::start(ui, "reading", len) };
        let index = Index::build(&mut watched).with_context(|| format!("read {name}"))?;
        drop(watched.progress);
        let chain = Chain::find(&index);
        let stem = input.path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
        let past = KnownPast {
            known: None,
            history: History::default(),
            lines: Lines::plain(),
            operation: new_operation(stem.as_deref(), input.path.as_deref()),
            pending: Vec::new(),
            unsaved: Vec::new(),
        };
        let reading = Self {
            file: input.file,
            name,
            path: input.path,
            stem,
            index,
            chain,
            past,
            inherited: None,
            lowered_from: None,
            drafted: None,
        };
        reading.refuse_unless_transcript()?;
        Ok(reading)
    }

    /// What names the session in results. What cannot be read of it is not told.
    pub(crate) fn session(&self) -> SessionRef {
        let own_id = self.path.as_deref().and_then(session_id).map(str::to_owned);
        SessionRef {
            path: self.path.as_ref().map(|path| path.display().to_string()),
            id: own_id.or_else(|| archives::last_session(self.session_file()).ok().flatten()),
            title: title_of(self.transcript()).ok(),
            project: self.project().ok().flatten(),
        }
    }

    /// The folder that was worked in, from the first active entry that names one.
    pub(crate) fn project(&self) -> io::Result<Option<String>> {
        let mut buffer = Vec::new();
        for &line in &self.chain.lines {
            let bytes = read_line(&self.file, &self.index, line, &mut buffer)?;
            let mut folder = None;
            each_field(bytes, |key, value| {
                if key == b"cwd" {
                    folder = value.string(bytes).map(|raw| json_string::decode(raw).into_owned());
                }
            });
            if folder.is_some() {
                return Ok(folder);
            }
        }
        Ok(None)
    }

    /// The context usage that the client recorded last.
    pub(crate) fn measured(&self) -> Option<Tokens> {
        self.lowered_from.or_else(|| recorded_context(self.transcript()).ok().flatten())
    }

    /// Takes over the figures that `archive` has of the session and of what it was made from.
    pub(crate) fn inherit(&mut self, archive: &dyn Archive) {
        self.inherited = self.path.as_deref().and_then(|path| Inherited::of(archive, path));
        self.lowered_from = figures::lowered_from(archive, &self.file, &self.index, &self.chain);
    }

    /// The calibration of the session.
    pub(crate) fn calibration(&self) -> Calibration {
        Inherited::calibration(self.inherited, &self.index, &self.chain)
    }

    /// The origin of its context usage.
    pub(crate) fn usage_origin(&self) -> Origin {
        figures::origin(&self.index, &self.chain, self.lowered_from, &self.calibration())
    }

    /// Finds out what `archive` knows of the session.
    pub(crate) fn recognise(&mut self, archive: &dyn Archive) -> Result<(), CommandError> {
        (_, self.past.known) = version::recognise(archive, &self.file, &self.index)?;
        let made = self.made(Some(archive));
        let (history, lines) = (made.history()?, made.lines());
        (self.past.history, self.past.lines) = (history, lines);
        Ok(())
    }

    /// What the session is made of.
    pub(crate) fn made<'a>(&'a self, archive: Option<&'a dyn Archive>) -> Made<'a> {
        let (file, index) = match &self.drafted {
            Some(drafted) => (&drafted.file, &drafted.index),
            None => (&self.file, &self.index),
        };
        Made { file, index, known: self.past.known.as_ref(), archive }
    }

    /// How many lines a client has added to what ctxc wrote, or read.
    pub(crate) fn n_appended(&self) -> u64 {
        let Some(known) = &self.past.known else { return 0 };
        let earlier = known
            .state
            .runs
            .iter()
            .filter(|run| run.under.is_some() && !run.is_closing)
            .map(|run| u64::from(run.n_lines));
        earlier.sum::<u64>() + self.n_new()
    }

    /// How many lines the archive does not have yet.
    pub(crate) fn n_new(&self) -> u64 {
        let index = self.drafted.as_ref().map_or(&self.index, |drafted| &drafted.index);
        let n_known = self.past.known.as_ref().map_or(0, |known| known.n_lines);
        u64::from(index.n_lines().saturating_sub(n_known))
    }

    /// Whether a client has added to what ctxc wrote, or read.
    pub(crate) fn has_grown(&self) -> bool {
        self.n_appended() > 0
    }

    /// Whether the session is rendered from more than the file itself.
    pub(crate) fn is_composed(&self) -> bool {
        let version = self.past.known.as_ref().and_then(|known| known.version.as_ref());
        let is_changed = version.is_some_and(|version| !version.is_plain());
        is_changed || self.drafted.is_some() || !self.past.pending.is_empty()
    }

    /// The operation that is planned, of which `edits` are all.
    pub(crate) fn edits(&self, edits: Vec<Edit>) -> Edits {
        Edits { operation: self.past.operation.clone(), edits, ..Edits::default() }
    }

    /// Makes a draft of the session as `edits`, which are all that is planned, leave it.
    pub(crate) fn draft(
        &mut self,
        edits: Vec<Edit>,
        archive: Option<&dyn Archive>,
        ui: &Ui,
    ) -> Result<Draft, CommandError> {
        let history = self.past.history.with(self.edits(edits.clone()));
        let draft = self.made(archive).rebase(&history, None)?.draft(ui.stop())?;
        self.past.pending = edits;
        Ok(draft)
    }

    /// Puts the session as it was before all operations of ctxc in its place, with what a client added since, by what
    /// `archive` has of it. Gives whether any operation had changed it.
    pub(crate) fn undo_all(&mut self, archive: &dyn Archive, ui: &Ui) -> Result<bool, CommandError> {
        self.recognise(archive)?;
        let standing = self.past.history.standing().filter(|operation| operation.undoes.is_empty());
        let ids: Vec<String> = standing.map(|operation| operation.operation.clone()).collect();
        if ids.is_empty() {
            return Ok(false);
        }
        let history = self.past.history.with(Edits { undoes: ids, ..self.edits(Vec::new()) });
        let draft = self.made(Some(archive)).rebase(&history, None)?.draft(ui.stop())?;
        self.replace(draft);
        Ok(true)
    }

    /// Puts what the operations `ids` made of an earlier state of the session in its place.
    #[cfg(feature = "mcp")]
    pub(crate) fn go_on_from(&mut self, ids: &[String], archive: &dyn Archive, ui: &Ui) -> Result<(), CommandError> {
        let known = self.past.history.ids();
        let new: Vec<String> = ids.iter().filter(|id| !known.contains(id)).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        for operation in History::read(archive, &new).map_err(apply::ApplyError::from)?.operations() {
            self.past.history = self.past.history.with(operation.clone());
        }
        let draft = self.draft(Vec::new(), Some(archive), ui)?;
        self.replace(draft);
        Ok(())
    }

    /// Puts `answers`, the results of calls that have none yet, at the end of the session, as an operation of their own.
    #[cfg(feature = "mcp")]
    pub(crate) fn answer(
        &mut self,
        answers: Vec<String>,
        archive: Option<&dyn Archive>,
        ui: &Ui,
    ) -> Result<(), CommandError> {
        let behind = ctxc_transcript::LineNo(self.made(archive).n_stored());
        let before = version::Address::Stored(behind);
        let edits = Edits {
            operation: new_operation(Some("answers"), self.path.as_deref()),
            edits: vec![Edit::Insert { before, lines: answers }],
            ..Edits::default()
        };
        self.past.history = self.past.history.with(edits.clone());
        self.past.unsaved.push(edits);
        let draft = self.draft(Vec::new(), archive, ui)?;
        self.replace(draft);
        Ok(())
    }

    /// Puts `draft` in the place of the session, to be planned on.
    pub(crate) fn replace(&mut self, draft: Draft) {
        let Draft { file, index, chain, lines } = draft;
        let file = std::mem::replace(&mut self.file, file);
        let chain = std::mem::replace(&mut self.chain, chain);
        let index = std::mem::replace(&mut self.index, index);
        self.past.lines = lines;
        // The session stays what was read first, whatever is drafted of it.
        if self.drafted.is_none() {
            let before = SourceState::of(&index, &chain);
            self.drafted = Some(Drafted { file, index, before });
        }
    }

    /// The session as it is on the disk.
    pub(crate) fn session_file(&self) -> &File {
        match &self.drafted {
            Some(drafted) => &drafted.file,
            None => &self.file,
        }
    }

    /// The session as it is on the disk, to be rewritten.
    pub(crate) fn origin(&self) -> RewriteSource<'_> {
        let file = self.drafted.as_ref().map_or(&self.file, |drafted| &drafted.file);
        RewriteSource { file, path: self.path.as_deref(), base: None }
    }

    /// Reads the file once more: `read` gets it with a bar that `label` names, of `total` bytes.
    pub(crate) fn again<T>(
        &mut self,
        ui: &Ui,
        label: &str,
        total: u64,
        read: impl FnOnce(ProgressReader<'_, &mut File>, &Index, &Chain) -> io::Result<T>,
    ) -> Result<T, CommandError> {
        let watched =
            ProgressReader { reader: &mut self.file, stop: ui.stop(), progress: Progress::start(ui, label, total) };
        Ok(read(watched, &self.index, &self.chain).with_context(|| format!("read {}", self.name))?)
    }

    /// The bytes of the live lines.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.chain.live.iter().map(|line| u64::from(self.index.record(line).len)).sum()
    }
}

/// An id for an operation that is planned for the session called `stem`.
fn new_operation(stem: Option<&str>, path: Option<&Path>) -> String {
    let now = Timestamp::now();
    // Two programs may plan at once, for one file.
    let what = format!("{} {}", now.as_nanosecond(), std::process::id());
    operation_id(now, stem.unwrap_or("-"), Digest::of(what.as_bytes()), path)
}

/// A reader whose bytes are counted by a bar.
pub(crate) struct ProgressReader<'a, R> {
    reader: R,
    stop: &'a AtomicBool,
    progress: Progress,
}

impl<R: Read> Read for ProgressReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Stopped::check(self.stop)?;
        let n_read = self.reader.read(buffer)?;
        self.progress.advance(n_read as u64);
        Ok(n_read)
    }
}

impl<R: Seek> Seek for ProgressReader<'_, R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}
