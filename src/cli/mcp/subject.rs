//! What a call acts on: the session that it comes from, or the newest result that this server has made of it, with what
//! the client has added since behind it (AC5.3).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::tools::Tool;
use crate::apply::{Joined, Stopgap, ThinkingPolicy, answered, joined};
use crate::cli::error::CommandError;
use crate::cli::reading::Reading;
use crate::cli::settings::{Form, Keep, Mode, Output, Reporting, Rewriting};
use crate::cli::ui::Ui;
use crate::text::Digest;
use crate::transcript::open_calls;
use crate::transcript::session::{By, Found};

/// A result that this server has made of a session.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The result.
    pub(super) path: PathBuf,
    /// Its length as it was written.
    pub(super) len: u64,
    /// How much of the session it was made of, in bytes.
    pub(super) source_len: u64,
    /// The digest of as much.
    pub(super) source_digest: Digest,
}

/// What a call acts on.
pub(super) struct Subject {
    /// The session that the call comes from.
    pub(super) source: PathBuf,
    pub(super) reading: Reading,
    /// How much of the session was read, in bytes.
    pub(super) source_len: u64,
    /// The ids of the calls that have no result yet, of which one is that which is being answered.
    pub(super) under_way: Vec<String>,
}

/// Reads what a call from `source` acts on, of which `made` is the newest result, and gives it the end that it lacks.
///
/// # Errors
/// When it cannot be read.
pub(super) fn open(source: &Path, made: Option<&Made>, ui: &Ui) -> Result<Subject, CommandError> {
    let result = match made {
        Some(made) => result_of(source, made, ui)?,
        None => None,
    };
    let mut subject = if let Some(subject) = result {
        subject
    } else {
        let reading = Reading::of(&found(source), ui)?;
        let source_len = reading.index.fingerprint.len;
        Subject { source: source.to_owned(), reading, source_len, under_way: Vec::new() }
    };
    let reading = &mut subject.reading;
    let open = open_calls(&mut reading.file).with_context(|| format!("read {}", reading.name))?;
    subject.under_way = open.into_iter().map(|call| call.id).collect();
    let (carried_from, home) = (reading.carried_from(), reading.home().map(Path::to_owned));
    let copy = answered(&reading.file, &reading.index, &reading.chain, &stopgap);
    if let Some(copy) = copy.with_context(|| format!("read {}", reading.name))? {
        reading.settle(copy, carried_from, home).with_context(|| format!("read {}", reading.name))?;
    }
    Ok(subject)
}

/// The result that was made of `source`, with what came since behind it; `None` where one of both is not what it was, or
/// where what came since goes on from something that the result does not have.
fn result_of(source: &Path, made: &Made, ui: &Ui) -> Result<Option<Subject>, CommandError> {
    // A result in which somebody works by now is a session of its own.
    let is_untouched = std::fs::metadata(&made.path).is_ok_and(|metadata| metadata.len() == made.len);
    if !is_untouched || digest(source, made.source_len).ok() != Some(made.source_digest) {
        return Ok(None);
    }
    let mut reading = Reading::of(&found(&made.path), ui)?;
    let file = File::open(source).with_context(|| format!("read {}", source.display()))?;
    let joined = joined(&reading.file, &file, made.source_len).with_context(|| format!("read {}", source.display()))?;
    let Some(Joined { file, first, source_len }) = joined else { return Ok(None) };
    reading.settle(file, Some(first), Some(source.to_owned())).with_context(|| format!("read {}", source.display()))?;
    Ok(Some(Subject { source: source.to_owned(), reading, source_len, under_way: Vec::new() }))
}

/// The digest of the first `len` bytes of the file at `path`.
///
/// # Errors
/// When it cannot be read, or is shorter.
pub(super) fn digest(path: &Path, len: u64) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let n_read = io::copy(&mut File::open(path)?.take(len), &mut hasher)?;
    if n_read == len { Ok(hasher.finalize().into()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

pub(super) fn found(path: &Path) -> Found {
    Found::File { path: path.to_owned(), by: By::Path }
}

/// What takes the place of results that are still to come. The call of ours that is under way has this session for its
/// result.
fn stopgap(tool: &str) -> Stopgap {
    if Tool::called(tool).is_some() {
        Stopgap::Done("[ctxc: done; this session is what came of it]".to_owned())
    } else {
        Stopgap::Pending(
            "[ctxc: this session was made while the call was under way, before it had a result]".to_owned(),
        )
    }
}

/// How the subject is rewritten: into a new session beside it.
pub(super) fn rewriting(subject: &Subject, settings: &super::Settings) -> Rewriting {
    let path = subject.reading.path.as_deref().unwrap_or(&subject.source);
    Rewriting {
        source: found(path),
        estimate: settings.estimate,
        thinking: ThinkingPolicy::CloseLoop,
        output: Output::NewSession(None),
        keep: Keep::In(settings.archive.clone()),
        shelf: settings.shelf.clone(),
        mode: Mode::Do,
        reporting: Reporting { form: Form::Text, report: None },
    }
}
