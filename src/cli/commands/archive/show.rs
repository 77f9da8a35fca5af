//! `ctxc archive show`: show an operation, an entry that was removed, or a record.

use std::io::Write;

use anyhow::anyhow;

use super::run::Desk;
use crate::cli::error::{CommandError, Completion};
use crate::cli::tell::tell;
use crate::report::archive::{Entry, LineEntry, OperationEntry, RecordEntry, Shown};
use ctxc_core::apply::{NamedBatch, over, texts};
use ctxc_store::{Archive, ArchiveError, DocumentId, Kind, ObjectKind, Operation, Originals};
use ctxc_transcript::text::Digest;

/// What to show, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The id as it was typed.
    pub(crate) id: String,
    pub(crate) form: Form,
}

/// How a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Its texts.
    Texts,
    /// Byte for byte: `--raw`.
    Raw,
}

/// What an id stands for.
pub(crate) enum Named {
    Operation(Box<Operation>),
    Document(DocumentId),
}

pub(super) fn run(settings: &Settings, desk: &Desk<'_>) -> Result<Completion, CommandError> {
    let entry = match (named(&settings.id, &*desk.archive, desk.url)?, settings.form) {
        (Named::Operation(operation), Form::Texts) => {
            let n_originals = desk.archive.originals(Originals::Operation(&operation.id))?.len() as u64;
            Entry::Operation(Box::new(OperationEntry::new(&operation, n_originals, desk.ui.look())))
        }
        (Named::Document(DocumentId::Line(digest)), Form::Texts) => return line(digest, settings, desk),
        (Named::Document(DocumentId::Record(kind, key)), Form::Texts) => {
            let record = desk.archive.record(kind, key)?.ok_or_else(|| unknown(settings, desk))?;
            if kind == Kind::Batch {
                let batch = NamedBatch::of(record.clone());
                desk.ui.status(&batch.label);
                if let Some(over) = over(&*desk.archive, &batch)? {
                    desk.ui.status(format_args!("merged in {over}"));
                }
            }
            Entry::Record(RecordEntry::new(record))
        }
        (Named::Document(DocumentId::Line(digest)), Form::Raw) => {
            let line = desk.archive.line(digest)?.ok_or_else(|| unknown(settings, desk))?;
            let mut output = desk.ui.output();
            output.write_all(&line).and_then(|()| output.flush())?;
            return Ok(Completion::Full);
        }
        (Named::Operation(_) | Named::Document(DocumentId::Record(..)), Form::Raw) => {
            return Err(CommandError::usage(anyhow!("--raw only works for lines, and {} is none", settings.id))
                .hint("run it without --raw"));
        }
    };
    let shown = Shown { entry };
    tell(desk.reporting, desk.ui, &shown, &shown)?;
    Ok(Completion::Full)
}

fn line(digest: Digest, settings: &Settings, desk: &Desk<'_>) -> Result<Completion, CommandError> {
    let line = desk.archive.line(digest)?.ok_or_else(|| unknown(settings, desk))?;
    let originals = desk.archive.originals(Originals::Line(digest))?;
    let line = LineEntry::new(digest, line.len() as u64, &originals, texts(&line));
    desk.ui.status(line.origin());
    if line.is_silent() {
        desk.ui.hint("it has no text; use --raw to print the line");
    }
    let shown = Shown { entry: Entry::Line(line) };
    tell(desk.reporting, desk.ui, &shown, &shown)?;
    Ok(Completion::Full)
}

/// What `id`, or what begins with it, stands for in `archive`, which is at `url`.
///
/// # Errors
/// When nothing does, or several things do.
pub(crate) fn named(id: &str, archive: &dyn Archive, url: &str) -> Result<Named, CommandError> {
    // Ids and digests are written in lower case.
    let id = id.to_ascii_lowercase();
    let mut names: Vec<String> = Vec::new();
    let mut found = None;
    match archive.operation(&id) {
        Ok(Some(operation)) if operation.id == id => return Ok(Named::Operation(Box::new(operation))),
        Ok(Some(operation)) => {
            names.push(format!("operation {}", operation.id));
            found = Some(Named::Operation(Box::new(operation)));
        }
        Ok(None) => {}
        Err(ArchiveError::AmbiguousOperation { ids, .. }) => {
            names.extend(ids.iter().map(|id| format!("operation {id}")));
        }
        Err(error) => return Err(error.into()),
    }
    for document in archive.begins_with(&id)?.into_iter().chain(masked(&id, archive)?) {
        let what = if matches!(document, DocumentId::Line(_)) { "entry" } else { "record" };
        names.push(format!("{what} {}", document.digest().to_string().chars().take(16).collect::<String>()));
        found = Some(Named::Document(document));
    }
    match (names.as_slice(), found) {
        ([_], Some(found)) => Ok(found),
        ([], _) => Err(CommandError::from(anyhow!("no match for {id} in {url}")).hint(
            "run `ctxc archive list` or `ctxc archive search` to find ids; use --archive if another archive was used",
        )),
        (several, _) => {
            Err(CommandError::usage(anyhow!("id {id:?} is ambiguous: {}", several.join(", ")))
                .hint("use a longer prefix"))
        }
    }
}

/// The lines that had a digest which begins so, before `ctxc forget` masked something in them: placeholders still name it.
fn masked(id: &str, archive: &dyn Archive) -> Result<Vec<DocumentId>, CommandError> {
    let mut lines = Vec::new();
    for (digest, _) in archive.object_keys(ObjectKind::Forgotten)? {
        if !digest.to_string().starts_with(id) {
            continue;
        }
        let ids = archive.object(ObjectKind::Forgotten, digest)?.map(|object| object.lines).unwrap_or_default();
        archive.each_line(&ids, &mut |_, line| {
            lines.push(DocumentId::Line(Digest::of(line)));
            Ok(())
        })?;
    }
    Ok(lines)
}

/// The error for what has gone since it was found.
fn unknown(settings: &Settings, desk: &Desk<'_>) -> CommandError {
    anyhow!("{} is no longer in {}", settings.id, desk.url).into()
}
