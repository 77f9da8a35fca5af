//! `ctxc export`: write sessions in the format of another program (Y-03).

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};

use super::read::each_piece;
use crate::cli::args::{SessionArg, both_printed};
use crate::cli::context::{Context, Form};
use crate::report::envelope::About;
use crate::report::export::{Export, ExportProblem, ExportReport, Format};
use crate::report::session::SessionRef;
use crate::report::size::{count, counted};
use crate::session::error::{CommandError, Completion, Kind};
use crate::session::reading::Reading;
use crate::session::write::refuse_unless_file;
use crate::terminal::ui::Ui;
use ctxc_core::apply::{IfExists, StagedFile, TITLE_LEN, whole_title_of};
use ctxc_engine::redact::Redactor;
use ctxc_transcript::session::{FoundBy, FoundSession, SessionFolders, sessions_of_all_projects};
use ctxc_transcript::text::{clip_text, escape_unprintable};

pub(crate) const EXAMPLES: &str = "\
Exports the active entries: what a resume would send. Secrets are replaced by placeholders such as [SECRET-1].

Examples:
  ctxc export latest --format markdown -o session.md
  ctxc export --all --format ndjson -o sessions.ndjson
  ctxc export session.jsonl --format atif > trajectory.json
  duckdb -c \"SELECT tool, sum(tokens) FROM 'sessions.ndjson' GROUP BY tool\"";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArg,
    /// Export the sessions of all projects
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Format of the export
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite FILE
    #[arg(long)]
    force: bool,
    /// Export secrets as they are
    #[arg(long)]
    no_redact: bool,
}

/// The sessions to export.
#[derive(Debug)]
enum ExportedSessions {
    /// A single session.
    One(FoundSession),
    /// The sessions of all projects.
    All(SessionFolders),
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<Completion, CommandError> {
    let ui = context.ui;
    let which = if args.all {
        ExportedSessions::All(context.environment.places()?)
    } else {
        ExportedSessions::One(args.session.find(context)?)
    };
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    if output.is_none() && context.reporting.form == Form::Json {
        return Err(both_printed());
    }
    let source = if let ExportedSessions::One(found) = &which { found.path() } else { None };
    context.probe_report(source.into_iter().chain(output))?;
    let mut report = ExportReport {
        session: None,
        format: args.format,
        output: output.map(|path| path.display().to_string()),
        sessions: 0,
        texts: 0,
        secrets_replaced: 0,
        problems: Vec::new(),
    };
    match output {
        None => {
            let mut output = ui.output();
            export(args, &which, &mut output, &mut report, ui)?;
            output.flush().context("write to standard output")?;
            context.write_report(about(&report), &report)?;
        }
        Some(path) => {
            refuse_unless_file(path)?;
            let existing = if args.force { IfExists::Replace } else { IfExists::Refuse };
            let mut staged = StagedFile::create_beside(path, existing, None)?;
            let mut output = BufWriter::new(staged.file());
            export(args, &which, &mut output, &mut report, ui)?;
            output.flush().with_context(|| format!("write {}", path.display()))?;
            drop(output);
            staged.sync()?;
            staged.commit(existing)?;
            context.print_about(about(&report), &report, format_args!("{}\n", path.display()))?;
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

fn about(report: &ExportReport) -> About<'_> {
    report.session.as_ref().map_or(About::Nothing, About::Session)
}

fn export(
    args: &Args,
    which: &ExportedSessions,
    output: &mut impl Write,
    report: &mut ExportReport,
    ui: &Ui,
) -> Result<(), CommandError> {
    let places = match which {
        ExportedSessions::One(found) => {
            report.session = Some(export_one(args, found, output, report, ui)?);
            return Ok(());
        }
        ExportedSessions::All(places) => places,
    };
    for session in sessions_of_all_projects(places)? {
        let found = FoundSession::File { path: session.path.clone(), by: FoundBy::Id };
        match export_one(args, &found, output, report, ui) {
            Err(error) if error.kind() == Kind::Failed && error.cause::<NotWritten>().is_none() => {
                let (path, problem) = (session.path.display().to_string(), error.sentence());
                report.problems.push(ExportProblem { path, problem });
            }
            done => drop(done?),
        }
    }
    Ok(())
}

/// The error of an output that cannot be written, which ends an export of many sessions too.
#[derive(Debug, thiserror::Error)]
#[error("write the export")]
struct NotWritten(#[source] std::io::Error);

fn export_one(
    args: &Args,
    found: &FoundSession,
    output: &mut impl Write,
    report: &mut ExportReport,
    ui: &Ui,
) -> Result<SessionRef, CommandError> {
    let reading = Reading::of(found, ui)?;
    let mut session = reading.session();
    let mut redactor = Redactor::default();
    if !args.no_redact {
        // A secret may occur before the text that reveals it as one.
        each_piece(&reading, ui, |piece| {
            redactor.learn_secrets(&piece.text);
            Ok(())
        })?;
        // Redacts before clipping, since a truncated secret is not detected.
        let title = reading.named(whole_title_of(reading.transcript()))?;
        session.title = Some(clip_text(&redactor.redact(&title).text, TITLE_LEN));
    }
    let mut export = Export::new(args.format, &session);
    // In JSON the escapes do not change the meaning.
    let mut write = |text: &str| {
        output.write_all(escape_unprintable(text).as_bytes()).map_err(|error| anyhow::Error::new(NotWritten(error)))
    };
    each_piece(&reading, ui, |mut piece| {
        if !args.no_redact {
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
