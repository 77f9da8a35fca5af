//! Reading a transcript to its end: the index and the live chain, with progress where it takes long.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use super::error::CommandError;
use super::input;
use super::progress::Progress;
use super::ui::Ui;
use crate::apply::{Before, Draft, Origin};
use crate::text::Stopped;
use crate::transcript::session::Found;
use crate::transcript::{Chain, Index, LineNo};

/// A transcript that has been indexed.
#[derive(Debug)]
pub(super) struct Reading {
    /// The file, to be read again.
    pub(super) file: File,
    /// What messages call it.
    pub(super) name: String,
    /// Where it is; nothing for standard input.
    pub(super) path: Option<PathBuf>,
    /// Its name without the ending, which is the session's id where the client wrote it.
    pub(super) stem: Option<String>,
    pub(super) index: Index,
    pub(super) chain: Chain,
    /// The session itself, where all this is of a draft that shall take its place.
    pub(super) drafted: Option<Drafted>,
}

/// The session whose place a draft takes.
#[derive(Debug)]
pub(super) struct Drafted {
    pub(super) file: File,
    pub(super) before: Before,
    pub(super) kind: DraftKind,
    /// The session that has the folder of all that is referred to, where it is another.
    pub(super) home: Option<PathBuf>,
}

/// What a draft is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftKind {
    /// A change by itself.
    Changed,
    /// The session with the end that it lacks: no reason to write anything. From this line on it was written behind
    /// another beginning, where it was.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "for the server of agents alone"))]
    Settled(Option<LineNo>),
}

impl Reading {
    /// Opens and indexes what a SESSION argument stands for.
    pub(super) fn of(found: &Found, ui: &Ui) -> Result<Self, CommandError> {
        let mut input = input::open(found)?;
        let name = input.name();
        let len = input.file.metadata().map_or(0, |metadata| metadata.len());
        let mut watched =
            Watched { reader: &mut input.file, stop: ui.stop(), progress: Progress::start(ui, "reading", len) };
        let index = Index::build(&mut watched).with_context(|| format!("read {name}"))?;
        watched.progress.finish();
        let chain = Chain::find(&index);
        let stem = input.path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { file: input.file, name, path: input.path, stem, index, chain, drafted: None })
    }

    /// Puts `draft` in the place of the session, to be rewritten and written where the session would be.
    pub(super) fn draft(&mut self, mut draft: File) -> io::Result<()> {
        draft.rewind()?;
        let index = Index::build(&draft)?;
        let chain = Chain::find(&index);
        self.replace(draft, index, chain);
        Ok(())
    }

    /// As [`Self::draft`], of a draft that is indexed.
    pub(super) fn replace(&mut self, draft: File, index: Index, chain: Chain) {
        let file = std::mem::replace(&mut self.file, draft);
        // The session stays what was read first, whatever is drafted of it.
        self.drafted = Some(if let Some(drafted) = self.drafted.take() {
            Drafted { kind: DraftKind::Changed, ..drafted }
        } else {
            let before = Before::of(&self.index, &self.chain);
            Drafted { file, before, kind: DraftKind::Changed, home: None }
        });
        (self.index, self.chain) = (index, chain);
    }

    /// Puts `draft`, which is the session with the end that it lacks, in its place: what is wrong with the draft is
    /// nothing that a rewrite of it causes. `carried_from` is the first line that was written behind another beginning:
    /// thinking from there on goes. `home` is the session that has the folder of all that is referred to, where it is
    /// another.
    #[cfg(feature = "mcp")]
    pub(super) fn settle(
        &mut self,
        mut draft: File,
        carried_from: Option<LineNo>,
        home: Option<PathBuf>,
    ) -> io::Result<()> {
        draft.rewind()?;
        let index = Index::build(&draft)?;
        let chain = Chain::find(&index);
        let read = self.drafted.as_ref().map_or(self.index.fingerprint, |drafted| drafted.before.fingerprint);
        let before = Before { fingerprint: read, ..Before::of(&index, &chain) };
        self.replace(draft, index, chain);
        if let Some(drafted) = &mut self.drafted {
            drafted.before = before;
            drafted.kind = DraftKind::Settled(carried_from);
            drafted.home = home;
        }
        Ok(())
    }

    /// Whether this is the session with the end that it lacked, and nothing else.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.drafted, Some(Drafted { kind: DraftKind::Settled(_), .. }))
    }

    /// The first line that was written behind another beginning.
    pub(super) fn carried_from(&self) -> Option<LineNo> {
        match self.drafted.as_ref().map(|drafted| drafted.kind) {
            Some(DraftKind::Settled(line)) => line,
            Some(DraftKind::Changed) | None => None,
        }
    }

    /// The session that has the folder of all that is referred to, where it is another.
    pub(super) fn home(&self) -> Option<&Path> {
        self.drafted.as_ref().and_then(|drafted| drafted.home.as_deref())
    }

    /// The session as it is on the disk.
    pub(super) fn session_file(&mut self) -> &mut File {
        match &mut self.drafted {
            Some(drafted) => &mut drafted.file,
            None => &mut self.file,
        }
    }

    /// The session as it is rewritten.
    pub(super) fn origin(&self) -> Origin<'_> {
        let path = self.path.as_deref();
        match &self.drafted {
            None => Origin { file: &self.file, path, draft: None },
            Some(Drafted { file, before, kind: _, home: _ }) => {
                Origin { file, path, draft: Some(Draft { file: &self.file, before }) }
            }
        }
    }

    /// Reads the file once more: `read` gets it with a bar that `label` names, of `total` bytes.
    pub(super) fn again<T>(
        &mut self,
        ui: &Ui,
        label: &str,
        total: u64,
        read: impl FnOnce(Watched<'_, &mut File>, &Index, &Chain) -> io::Result<T>,
    ) -> Result<T, CommandError> {
        let watched = Watched { reader: &mut self.file, stop: ui.stop(), progress: Progress::start(ui, label, total) };
        Ok(read(watched, &self.index, &self.chain).with_context(|| format!("read {}", self.name))?)
    }

    /// The bytes of the live lines.
    pub(super) fn live_bytes(&self) -> u64 {
        self.chain.live.iter().map(|line| u64::from(self.index.record(line).len)).sum()
    }
}

/// A reader whose bytes are counted by a bar.
pub(super) struct Watched<'a, R> {
    reader: R,
    stop: &'a AtomicBool,
    progress: Progress,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Stopped::check(self.stop)?;
        let n_read = self.reader.read(buffer)?;
        self.progress.advance(n_read as u64);
        Ok(n_read)
    }
}

impl<R: Seek> Seek for Watched<'_, R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}
