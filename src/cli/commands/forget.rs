//! `ctxc forget`: purge a text from everything that ctxc stores (N-12).

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow};
use clap::builder::NonEmptyStringValueParser;

use crate::cli::args::RemovalArgs;
use crate::cli::context::Context;
use crate::cli::environment::data_dir;
use crate::report::forget::{ForgetReport, MaskedFile};
use crate::report::size::counted;
use crate::session::archives;
use crate::session::backups::backups_of;
use crate::session::error::{CommandError, Completion};
use crate::session::find_index::index_path;
use crate::session::leftovers::leftovers;
use crate::session::options::Mode;
use crate::terminal::interrupt::while_waiting;
use crate::terminal::ui::Ui;
use ctxc_core::apply::{Masked, n_masked, overwrite, remove_leftover, shell_word};
use ctxc_core::version::{Purge, Purged, Secret, files_in, kept_sessions, purge, taken_out};
use ctxc_store::{Archive, ArchiveUrl, FindIndex, Rewrite, hide_password};
use ctxc_transcript::session::{Places, sidecar_dir};
use ctxc_transcript::text::Stopped;

pub(crate) const EXAMPLES: &str = "\
Replaces a text with a mask of the same length in everything that ctxc stores: the archive with its index, \
results, and backups. The text stays masked if a file with it is stored again, and restored sessions show the \
mask. It is also found escaped, percent-encoded, in base64 and in hexadecimal.

Lists files of the client that still contain the text, and leaves them unchanged. It cannot reach maps and exports \
made with --no-redact, files of --report and `batch --results`, copies of the archive or of sessions, backups \
elsewhere, nor the log, the replicas and the backups of a PostgreSQL server. Revoke the secret as well.

Examples:
  ctxc forget --secret < secret.txt
  pass show api-key | ctxc forget --secret --yes
  ctxc forget --op 01m2k4v7q --dry-run";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Purge the text on standard input
    #[arg(long, required_unless_present = "op", conflicts_with = "op")]
    secret: bool,
    /// Purge what this operation removed, as listed by `ctxc log`
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    op: Option<String>,
    #[command(flatten)]
    removal: RemovalArgs,
}

/// The note on files that are unknown or out of reach.
const NOT_REACHED: &str = "not reached: maps and exports made with --no-redact, files of --report and `batch --results`, \
    copies of the archive or of sessions, and backups elsewhere; delete those that hold the text yourself";

/// Longer input is not a secret but a whole file piped in by mistake.
const LONGEST: u64 = 1 << 20;

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<Completion, CommandError> {
    let (environment, ui) = (context.environment, context.ui);
    let place = args.removal.archive.url(environment)?;
    let mode = args.removal.mode();
    context.probe_report(None)?;
    let mut archive = archives::open_existing(&place)?;
    let secret = secret(args.op.as_deref(), &*archive, ui)?;
    let url = hide_password(&place);
    if mode == Mode::Do {
        // The index of a search has texts of the client's files too; the next search rebuilds it.
        let index = index_path(&place.parse().map_err(CommandError::usage)?, data_dir().ok().as_deref());
        index.map_or(Ok(()), |path| FindIndex::delete(&path)).context("delete the index of `ctxc find`")?;
    }
    let files = Files::find(&*archive, environment.places().ok().as_ref())?;
    let mask = |bytes: &[u8], attempt| secret.mask(bytes, attempt);
    let mut report = ForgetReport::new(url.clone(), purge(&mut *archive, &mask, Purge::Count, ui.stop())?, true);
    let mut bound = Vec::new();
    for path in &files.ours {
        let masked =
            Masked::find(path, &|line| secret.mask(line, 0)).with_context(|| format!("read {}", path.display()))?;
        report.files.extend((masked.n_lines > 0).then(|| MaskedFile::new(path, masked.n_lines)));
        // No client opens a backup.
        let is_session = path.extension().is_some_and(|extension| extension == "jsonl");
        bound.extend((is_session && masked.has_thinking_behind).then(|| path.display().to_string()));
    }
    // Leftovers may contain partial lines or compressed data, which cannot be searched.
    report.leftovers = leftovers(Some(&*archive), &place, environment.places().ok().as_ref(), SystemTime::now())?
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    for path in &files.clients {
        Stopped::check(ui.stop())?;
        // Unreadable files of the client are not our concern.
        let n_lines = n_masked(path, &|line| secret.mask(line, 0)).unwrap_or(0);
        report.left.extend((n_lines > 0).then(|| MaskedFile::new(path, n_lines)));
    }
    report.damaged_archives = damaged_archives(&place);
    if mode == Mode::Show || report.is_nothing() {
        context.print(&report, format_args!("{report}\n"))?;
        ui.status(NOT_REACHED);
        return Ok(Completion::Full);
    }
    if !args.removal.yes {
        ui.status(&report);
        let question = "purge it? It can never be restored.";
        if !context.confirm(question, "purge", "use --dry-run to see what would be purged")? {
            ui.status("nothing was purged");
            return Ok(Completion::Full);
        }
    }
    let purged = purge(&mut *archive, &mask, Purge::Mask, ui.stop())?;
    let mut done = ForgetReport::new(url, purged, false);
    (done.files, done.left, done.leftovers) = (report.files, report.left, report.leftovers);
    done.damaged_archives = report.damaged_archives;
    let report = done;
    for MaskedFile { path, .. } in &report.files {
        let path = files.ours.iter().find(|ours| ours.display().to_string() == *path);
        if let Some(path) = path {
            overwrite(path, &|line| secret.mask(line, 0)).with_context(|| format!("write {}", path.display()))?;
        }
    }
    for path in &report.leftovers {
        remove_leftover(Path::new(path)).with_context(|| format!("remove {path}"))?;
    }
    archive.rewrite(Rewrite::Everything)?;
    let done = finish(&place, report, &mut *archive, &secret, context)?;
    if let Some(first) = bound.first() {
        ui.warning(format_args!(
            "{} with masked text and with thinking, which the API may reject behind a mask",
            counted(bound.len() as u64, "session")
        ));
        ui.hint(format_args!("remove it with `ctxc prune {} --thinking --in-place`", shell_word(first)));
    }
    Ok(done)
}

/// Searches again, and reports what could not be masked.
fn finish(
    place: &str,
    mut report: ForgetReport,
    archive: &mut dyn Archive,
    secret: &Secret,
    context: &Context<'_>,
) -> Result<Completion, CommandError> {
    let ui = context.ui;
    let is_in = |bytes: &[u8], _| secret.is_in(bytes).then(|| bytes.to_vec());
    let Purged { lines, objects, operations, records } = purge(archive, &is_in, Purge::Count, ui.stop())?;
    report.unmasked = lines + objects + operations + records;
    context.print(&report, format_args!("{report}\n"))?;
    if report.unmasked > 0 {
        ui.warning(format_args!(
            "the text is part of the key of {} entries and was not masked; it may be an id or a keyword",
            report.unmasked
        ));
    }
    if !report.damaged_archives.is_empty() {
        ui.warning("archives that a repair put aside may hold the text; delete them yourself");
    }
    if !report.left.is_empty() {
        ui.warning("files of the client still hold the text; delete them, or the text in them, yourself");
    }
    if matches!(place.parse(), Ok(ArchiveUrl::Postgres(_))) {
        ui.warning(
            "the log, the replicas and the backups of the server still hold the text, and so do its tables until VACUUM \
             FULL, where you may not run it",
        );
    }
    ui.status(NOT_REACHED);
    Ok(if report.unmasked > 0 { Completion::Partial } else { Completion::Full })
}

fn secret(operation: Option<&str>, archive: &dyn Archive, ui: &Ui) -> Result<Secret, CommandError> {
    match operation {
        None => {
            let mut text = String::new();
            ui.say_reading_stdin();
            while_waiting(|| io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text))
                .context("read the text from standard input")?;
            if text.len() as u64 > LONGEST {
                return Err(CommandError::usage(anyhow!("the text on standard input is longer than 1 MiB")));
            }
            let text = text.trim_end_matches(['\n', '\r']);
            Secret::of(text).ok_or_else(|| {
                CommandError::usage(anyhow!("the text on standard input is shorter than {} bytes", Secret::LEAST))
                    .hint("a text this short would match too much")
            })
        }
        Some(id) => {
            let operation = archive.operation(id)?.ok_or_else(|| {
                CommandError::from(anyhow!("no operation {id} in the archive")).hint("run `ctxc log` to find ids")
            })?;
            let texts = taken_out(archive, &operation.id)?;
            ui.detail(format_args!("operation {} removed {} texts", operation.id, texts.len()));
            Secret::of_texts(texts.iter().map(String::as_str))
                .ok_or_else(|| anyhow!("operation {} removed no text of at least 16 bytes", operation.id).into())
        }
    }
}

/// The files that a repair put aside beside the archive at `url`.
fn damaged_archives(url: &str) -> Vec<String> {
    let Ok(ArchiveUrl::Sqlite(path)) = url.parse() else { return Vec::new() };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let begins = format!("{}.damaged", name.to_string_lossy());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let aside = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&begins));
    let mut paths: Vec<String> = aside.map(|entry| entry.path().display().to_string()).collect();
    paths.sort();
    paths
}

/// Files that may contain the text.
struct Files {
    /// Results and backups that ctxc made.
    ours: BTreeSet<PathBuf>,
    /// All other files of the client.
    clients: BTreeSet<PathBuf>,
}

impl Files {
    fn find(archive: &dyn Archive, places: Option<&Places>) -> Result<Self, CommandError> {
        let (mut ours, mut sources) = (BTreeSet::new(), BTreeSet::new());
        for id in archive.operation_ids()? {
            let Some(operation) = archive.operation(&id)? else { continue };
            let (source, output) = (operation.source.path, operation.output.path);
            if let Some(output) = output.clone().filter(|_| output != source) {
                ours.extend(files_in(&sidecar_dir(&output)).unwrap_or_default());
            }
            sources.extend(source);
            ours.extend(output);
        }
        sources.extend(kept_sessions(archive)?.into_iter().filter_map(|session| session.path));
        let backups: Vec<PathBuf> = ours.iter().chain(&sources).flat_map(|path| backups_of(path)).collect();
        ours.extend(backups);
        ours.retain(|path| path.is_file());
        let mut clients = sources;
        if let Some(config) = places.and_then(|places| places.projects.parent()) {
            clients.extend(files_in(config).unwrap_or_default());
        }
        clients.retain(|path| path.is_file() && !ours.contains(path));
        Ok(Self { ours, clients })
    }
}
