//! Which sessions are exported, and where to.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::read::each_piece;
use crate::cli::error::{CommandError, Completion, Kind};
use crate::cli::landing::refuse_unless_file;
use crate::cli::reading::Reading;
use crate::cli::rewriting::refuse_unless_transcript;
use crate::cli::settings::{Existing, Reporting};
use crate::cli::tell::{self, tell};
use crate::cli::ui::Ui;
use crate::report::envelope::SessionRef;
use crate::report::export::{Export, ExportProblem, ExportReport, Format};
use crate::report::size::{count, counted};
use ctxc_core::apply::Staged;
use ctxc_engine::redact::Redactor;
use ctxc_transcript::session::{By, Found, Places, of_all_projects};

/// What to export, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) which: Which,
    pub(crate) format: Format,
    /// The file; standard output where there is none.
    pub(crate) output: Option<PathBuf>,
    pub(crate) existing: Existing,
    pub(crate) secrets: Secrets,
    pub(crate) reporting: Reporting,
}

/// Which sessions are exported.
#[derive(Debug)]
pub(crate) enum Which {
    /// This one.
    One(Found),
    /// Those of all projects.
    All(Places),
}

/// What becomes of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Placeholders stand for them.
    Replaced,
    /// They stay: `--no-redact`.
    Kept,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let source = if let Which::One(found) = &settings.which { found.path() } else { None };
    let apart: Vec<&Path> = source.into_iter().chain(settings.output.as_deref()).collect();
    tell::probe(&settings.reporting, &apart)?;
    let mut report = ExportReport {
        session: None,
        format: settings.format,
        output: settings.output.as_ref().map(|path| path.display().to_string()),
        sessions: 0,
        texts: 0,
        secrets_replaced: 0,
        problems: Vec::new(),
    };
    match &settings.output {
        None => {
            let mut output = ui.output();
            export(settings, &mut output, &mut report, ui)?;
            output.flush().context("write to standard output")?;
            tell::report_file(&settings.reporting, &report)?;
        }
        Some(path) => {
            refuse_unless_file(path)?;
            let mut staged = Staged::beside(path, settings.existing.into(), None)?;
            let mut output = BufWriter::new(staged.file());
            export(settings, &mut output, &mut report, ui)?;
            output.flush().with_context(|| format!("write {}", path.display()))?;
            drop(output);
            staged.sync()?;
            staged.commit(settings.existing.into())?;
            tell(&settings.reporting, ui, &report, format_args!("{}\n", path.display()))?;
        }
    }
    for ExportProblem { path, problem } in &report.problems {
        ui.warning(format_args!("{path} is left out: {problem}"));
    }
    let secrets = counted(report.secrets_replaced, "secret");
    let sessions = counted(report.sessions, "session");
    ui.status(format_args!("exported {sessions}, {} texts; {secrets} replaced", count(report.texts)));
    Ok(if report.problems.is_empty() { Completion::Full } else { Completion::Partial })
}

fn export(
    settings: &Settings,
    output: &mut impl Write,
    report: &mut ExportReport,
    ui: &Ui,
) -> Result<(), CommandError> {
    let places = match &settings.which {
        Which::One(found) => {
            report.session = Some(export_one(settings, found, output, report, ui)?);
            return Ok(());
        }
        Which::All(places) => places,
    };
    for session in of_all_projects(places)? {
        let found = Found::File { path: session.path.clone(), by: By::Id };
        match export_one(settings, &found, output, report, ui) {
            Err(error) if error.kind() == Kind::Failed && error.cause::<NotWritten>().is_none() => {
                let (path, problem) = (session.path.display().to_string(), error.sentence());
                report.problems.push(ExportProblem { path, problem });
            }
            done => drop(done?),
        }
    }
    Ok(())
}

/// The output cannot be written, which ends an export of many sessions as well.
#[derive(Debug, thiserror::Error)]
#[error("write the export")]
struct NotWritten(#[source] std::io::Error);

fn export_one(
    settings: &Settings,
    found: &Found,
    output: &mut impl Write,
    report: &mut ExportReport,
    ui: &Ui,
) -> Result<SessionRef, CommandError> {
    let reading = Reading::of(found, ui)?;
    refuse_unless_transcript(&reading)?;
    let mut session = reading.session();
    let mut redactor = Redactor::default();
    if settings.secrets == Secrets::Replaced {
        // A secret may stand somewhere before the place that gives it away.
        each_piece(&reading, ui, |piece| {
            redactor.learn(&piece.text);
            Ok(())
        })?;
        session.title = session.title.map(|title| redactor.redact(&title).text);
    }
    let mut export = Export::new(settings.format, &session);
    let mut write =
        |text: &str| output.write_all(text.as_bytes()).map_err(|error| anyhow::Error::new(NotWritten(error)));
    each_piece(&reading, ui, |mut piece| {
        if settings.secrets == Secrets::Replaced {
            piece.text = redactor.redact(&piece.text).text;
        }
        report.texts += 1;
        Ok(write(&export.add(piece)?)?)
    })?;
    let rest = export.end()?.ok_or_else(|| anyhow!("{} has no messages", reading.name))?;
    write(&rest)?;
    report.sessions += 1;
    report.secrets_replaced += redactor.n_secrets() as u64;
    Ok(session)
}
