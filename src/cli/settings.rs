//! From what was typed to what a command needs: sessions found, defaults filled in, contradictions refused.

use std::path::PathBuf;

use anyhow::anyhow;
use uuid::Uuid;

use super::args::{ArchiveArgs, CheckArgs, CompressArgs, GlobalArgs, OutputArgs, RestoreArgs, StatsArgs};
use super::commands::{check, compress, restore, stats};
use super::error::CommandError;
use super::places::Environment;
use super::ui::Ui;
use crate::text::Tokens;
use crate::transcript::session::{self, By, Found};

/// Where a rewritten transcript goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A new session beside the source, under this id or a fresh one.
    NewSession(Option<Uuid>),
    /// This file; ids stay.
    File(PathBuf, Existing),
    /// Standard output; ids stay.
    StandardOutput,
    /// The source itself, after a backup; ids stay.
    InPlace(Existing),
}

/// What to do about a file that is there already, or about a source that changed a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    Respect,
    /// Go on: `--force`.
    Overwrite,
}

/// Where originals are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// In the archive at this URL.
    In(String),
    /// Nowhere: `--no-archive`.
    Nowhere,
}

/// What becomes of thinking after the first change that the model sees (S-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// It goes, except in a tool loop that is still open.
    Remove,
    /// It goes, and an open tool loop is ended first.
    RemoveAndCloseLoop,
    /// It stays.
    Keep,
}

/// Whether the work is done or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Done.
    Do,
    /// Shown: `--dry-run`.
    Show,
}

/// Whether a result in part is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is.
    Lenient,
    /// It ends with exit code 3: `--strict`.
    Strict,
}

/// How results are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// What goes to standard output.
    pub form: Form,
    /// The file that gets the JSON object as well.
    pub report: Option<PathBuf>,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// One JSON object with `"schema": 1`.
    Json,
}

/// What resolving looks at beside the arguments themselves.
pub(crate) struct Context<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) ui: &'a Ui,
    pub(crate) reporting: Reporting,
}

impl GlobalArgs {
    pub(crate) fn reporting(&self) -> Reporting {
        let form = if self.json { Form::Json } else { Form::Text };
        Reporting { form, report: self.report.clone() }
    }
}

impl CompressArgs {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<compress::Settings, CommandError> {
        let source = source(&self.session.session, &context)?;
        let output = output(self.output, self.session_id, &source)?;
        if output == Output::StandardOutput && context.reporting.form == Form::Json && !self.dry_run {
            return Err(CommandError::usage(anyhow!("print the transcript and the JSON report both"))
                .hint("write the report with --report FILE, or the transcript with -o FILE"));
        }
        Ok(compress::Settings {
            source,
            bands: self.select.bands,
            only: self.select.only,
            include: self.select.include,
            min_tokens: Tokens(self.select.min_tokens),
            protect_turns: self.select.protect_turns,
            engine: self.how.engine,
            estimate: self.how.tokens,
            thinking: match (self.how.keep_thinking, self.how.close_loop) {
                (true, _) => Thinking::Keep,
                (false, true) => Thinking::RemoveAndCloseLoop,
                (false, false) => Thinking::Remove,
            },
            output,
            keep: keep(&self.archive, context.environment)?,
            mode: if self.dry_run { Mode::Show } else { Mode::Do },
            strictness: if self.strict { Strictness::Strict } else { Strictness::Lenient },
            reporting: context.reporting,
        })
    }
}

impl CheckArgs {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<check::Settings, CommandError> {
        let file = source(&self.file, &context)?;
        let against = self.against.map(|original| source(&original, &context)).transpose()?;
        if file == Found::StandardInput && against == Some(Found::StandardInput) {
            return Err(CommandError::usage(anyhow!("read two transcripts from standard input")));
        }
        Ok(check::Settings { file, against, reporting: context.reporting })
    }
}

impl StatsArgs {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<stats::Settings, CommandError> {
        let source = source(&self.session.session, &context)?;
        // Statistics go on without an archive, also where there is no home folder for one.
        let archive = context.environment.archive_url(self.archive.as_deref()).ok();
        Ok(stats::Settings { source, bands: self.bands, archive, reporting: context.reporting })
    }
}

impl RestoreArgs {
    pub(crate) fn resolve(self, context: Context<'_>) -> Result<restore::Settings, CommandError> {
        let source = source(&self.session.session, &context)?;
        let output = output(self.output.into(), None, &source)?;
        if output == Output::StandardOutput && context.reporting.form == Form::Json {
            return Err(CommandError::usage(anyhow!("print the transcript and the JSON report both"))
                .hint("write the report with --report FILE, or the transcript with -o FILE"));
        }
        let archive = context.environment.archive_url(self.archive.as_deref())?;
        Ok(restore::Settings { source, output, archive, reporting: context.reporting })
    }
}

/// The session that `name` stands for. Which one is the latest is said, for it was not named.
fn source(name: &str, context: &Context<'_>) -> Result<Found, CommandError> {
    let found = session::find(name, &context.environment.places()?)?;
    if let Found::File { path, by } = &found {
        match by {
            By::Path | By::Id => context.ui.detail(format_args!("reading {}", path.display())),
            By::LatestHere => {
                context.ui.status(format_args!("the latest session of this project is {}", path.display()));
            }
            By::LatestAnywhere => {
                context.ui.status(format_args!(
                    "this project has no session; the latest of all projects is {}",
                    path.display()
                ));
            }
        }
    }
    Ok(found)
}

fn output(typed: OutputArgs, session_id: Option<Uuid>, source: &Found) -> Result<Output, CommandError> {
    let existing = if typed.force { Existing::Overwrite } else { Existing::Respect };
    match (typed.output, source) {
        (Some(path), _) if path.as_os_str() == "-" => Ok(Output::StandardOutput),
        (Some(path), _) => Ok(Output::File(path, existing)),
        (None, Found::StandardInput) if typed.in_place => {
            Err(CommandError::usage(anyhow!("replace standard input in place"))
                .hint("leave --in-place out: the result goes to standard output"))
        }
        (None, Found::StandardInput) if session_id.is_some() => {
            Err(CommandError::usage(anyhow!("put a new session beside standard input"))
                .hint("leave --session-id out: the result goes to standard output"))
        }
        (None, Found::StandardInput) => Ok(Output::StandardOutput),
        (None, Found::File { .. }) if typed.in_place => Ok(Output::InPlace(existing)),
        (None, Found::File { .. }) => Ok(Output::NewSession(session_id)),
    }
}

fn keep(typed: &ArchiveArgs, environment: &Environment) -> Result<Keep, CommandError> {
    if typed.no_archive {
        return Ok(Keep::Nowhere);
    }
    environment.archive_url(typed.archive.as_deref()).map(Keep::In)
}
