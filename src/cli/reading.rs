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
use crate::transcript::{Chain, Index};

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
        if self.drafted.is_none() {
            let before = Before::of(&self.index, &self.chain);
            self.drafted = Some(Drafted { file, before });
        }
        (self.index, self.chain) = (index, chain);
    }

    /// The session as it is rewritten.
    pub(super) fn origin(&self) -> Origin<'_> {
        let path = self.path.as_deref();
        match &self.drafted {
            None => Origin { file: &self.file, path, draft: None },
            Some(Drafted { file, before }) => Origin { file, path, draft: Some(Draft { file: &self.file, before }) },
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
