//! `ctxc client`: what the plugin runs inside Claude Code, and its installation.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::cli::asking::allow_on_server;
use crate::cli::client::{
    Doing, Hook, How, Plan, Request, Status, Touched, add_status_line, archive, is_own_status_line, plan, program_in,
    remove, remove_status_line, repair, settings, status_line, version_in, write,
};
use crate::cli::commands::keep;
use crate::cli::error::{CommandError, Completion};
use crate::cli::interrupt::while_waiting;
#[cfg(feature = "mcp")]
use crate::cli::mcp;
use crate::cli::settings::{Consent, Form, Keep, Reporting};
use crate::cli::stored;
use crate::cli::tell::tell;
use crate::cli::ui::Ui;
use crate::report::client::{ClientStatus, FileRow, Installed};
use crate::report::size::count;
use ctxc_transcript::Calibration;
use ctxc_transcript::session::{By, Found, session_id};
use ctxc_transcript::text::Tokens;

/// Sessions that were written no longer ago are looked after when the next one starts.
const LATELY: Duration = Duration::from_secs(7 * 24 * 3600);

/// What to do.
pub(crate) enum Settings {
    /// Write the plugin to where the client looks for it.
    Install(Place, Doing),
    /// Remove it.
    Uninstall(Place, Doing),
    /// Write it to a folder of its own, and print which.
    PluginDir(Place),
    /// Say what is installed.
    Status(Place),
    /// Put the status line into the settings of the client.
    InstallStatusLine(Place),
    /// Print the status line, of which a compaction leaves this part.
    StatusLine(f64),
    /// Say what a measure of the context calls for.
    Measure(Measure),
    /// Say what the tool call on standard input will do to the running session.
    #[cfg(feature = "mcp")]
    Ask(Box<mcp::Settings>),
    /// Compact the conversation on standard input.
    Compact(Box<How>),
    /// Look after the session on standard input.
    Repair(Upkeep),
}

/// Where the plugin is, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder of the plugin.
    pub(crate) folder: PathBuf,
    /// The folder that `plugin-dir` writes to.
    pub(crate) data: PathBuf,
    /// The user's settings of the client.
    pub(crate) client_settings: PathBuf,
    /// The archive in which sessions are stored when they end; null where they are not.
    pub(crate) kept_in: Option<String>,
    pub(crate) reporting: Reporting,
}

/// How full the context window is, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    /// Now.
    pub(crate) percent: u64,
    /// When it was last compacted unasked, where it has not been emptier since.
    pub(crate) compacted_at: Option<u64>,
    /// From where on it is compacted unasked; nothing for never.
    pub(crate) auto: Option<u64>,
}

/// How a session is looked after.
#[derive(Debug)]
pub(crate) struct Upkeep {
    /// The URL of the archive.
    pub(crate) archive: String,
    /// Whether sessions may go there, where it is on a server.
    pub(crate) on_server: Consent,
    /// Whether sessions are kept when they end.
    pub(crate) keeps: bool,
    /// The context window in tokens, where it is configured.
    pub(crate) window: Option<Tokens>,
    /// The part of it that a compaction may leave in use.
    pub(crate) part: f64,
    /// Whether this is the process that goes on when the hook has ended.
    pub(crate) settle: bool,
}

pub(crate) fn run(settings: &Settings, ui: &Ui) -> Result<Completion, CommandError> {
    match settings {
        Settings::Install(place, doing) => install(place, *doing, ui),
        Settings::Uninstall(place, doing) => uninstall(place, *doing, ui),
        Settings::PluginDir(place) => {
            write(&place.folder, &program()?, Doing::It)?;
            ui.data_line(place.folder.display())?;
            Ok(Completion::Full)
        }
        Settings::Status(place) => status(place, ui),
        Settings::InstallStatusLine(place) => {
            let touched = add_status_line(&place.client_settings, &program()?, Doing::It)?;
            told("install", Doing::It, vec![touched], None, place, ui)
        }
        Settings::StatusLine(part) => {
            let status: Status = serde_json::from_str(&read_input()?).context("read the status of the client")?;
            ui.data_line(status_line(&status, *part))?;
            Ok(Completion::Full)
        }
        Settings::Measure(measure) => {
            ui.data_line(measured(*measure))?;
            Ok(Completion::Full)
        }
        #[cfg(feature = "mcp")]
        Settings::Ask(settings) => ask(settings, ui),
        Settings::Compact(how) => compact(how, ui),
        Settings::Repair(upkeep) => {
            // The client takes some exit codes of a hook for a wish to stop the turn, and nobody reads its words.
            if let Err(error) = look_after(upkeep, ui) {
                ui.detail(error.explained());
            }
            Ok(Completion::Full)
        }
    }
}

/// From how many percent on the client shows a status.
const NOTED: u64 = 70;
/// By how many percent the context has to grow before it is compacted unasked again, where that did not help.
const GROWN: u64 = 5;

/// What a measure calls for: a status with the command that would help, and whether to compact unasked (C-05).
fn measured(measure: Measure) -> Value {
    let Measure { percent, compacted_at, auto } = measure;
    let is_over = auto.is_some_and(|auto| percent >= auto);
    let is_new = compacted_at.is_none_or(|at| percent >= at + GROWN);
    let status = format!("context {percent}% full: /compact shrinks it with ctxc, without a request");
    json!({
        "status": (percent >= NOTED).then_some(status),
        "compact": is_over && is_new,
        "compactedAt": if is_over && is_new { Some(percent) } else { compacted_at.filter(|_| is_over) },
    })
}

fn program() -> Result<PathBuf, CommandError> {
    Ok(std::env::current_exe().context("find the program")?)
}

fn install(place: &Place, doing: Doing, ui: &Ui) -> Result<Completion, CommandError> {
    let touched = write(&place.folder, &program()?, doing)?;
    told("install", doing, touched, place.kept_in.clone(), place, ui)
}

fn uninstall(place: &Place, doing: Doing, ui: &Ui) -> Result<Completion, CommandError> {
    let mut touched = remove(&place.folder, doing)?;
    touched.extend(remove(&place.data, doing)?);
    touched.extend(remove_status_line(&place.client_settings, doing)?);
    told("uninstall", doing, touched, None, place, ui)
}

/// Tells what became of files.
fn told(
    action: &'static str,
    doing: Doing,
    touched: Vec<Touched>,
    kept_in: Option<String>,
    place: &Place,
    ui: &Ui,
) -> Result<Completion, CommandError> {
    let row = |Touched { path, fate }: Touched| FileRow { path, fate: format!("{fate:?}").to_lowercase() };
    let files = touched.into_iter().map(row).collect();
    let report = Installed { action, dry_run: doing == Doing::Nothing, files, kept_in };
    tell(&place.reporting, ui, &report, format_args!("{report}\n"))?;
    Ok(Completion::Full)
}

fn status(place: &Place, ui: &Ui) -> Result<Completion, CommandError> {
    let program = program_in(&place.folder);
    let client_settings = settings(&place.client_settings)?;
    let report = ClientStatus {
        folder: place.folder.clone(),
        version: version_in(&place.folder),
        program_version: env!("CARGO_PKG_VERSION"),
        program_is_there: program.as_ref().is_some_and(|program| program.is_file()),
        program,
        hooks_disabled: client_settings.get("disableAllHooks").and_then(Value::as_bool) == Some(true),
        status_line: is_own_status_line(&client_settings) == Some(true),
        kept_in: place.kept_in.clone(),
    };
    tell(&place.reporting, ui, &report, format_args!("{report}\n"))?;
    Ok(Completion::Full)
}

fn read_input() -> Result<String, CommandError> {
    Ok(while_waiting(|| io::read_to_string(io::stdin())).context("read standard input")?)
}

/// Answers the client with what takes the place of its conversation. Where this fails, it compacts by itself.
fn compact(how: &How, ui: &Ui) -> Result<Completion, CommandError> {
    let request: Request = serde_json::from_str(&read_input()?).context("read the request of the client")?;
    let Plan { answer, records } = plan(&request, how, ui)?;
    if let Keep::In(url) = &how.rewriting.keep
        && !records.is_empty()
    {
        allow_on_server(url, how.rewriting.on_server, false, ui)?;
        let mut archive = stored::open(url)?;
        records.iter().try_for_each(|record| archive.put_record(record))?;
        archive.commit()?;
    }
    // Bytes as they are: these texts go back into the conversation.
    let mut out = ui.output();
    serde_json::to_writer(&mut out, &answer)?;
    out.flush()?;
    Ok(Completion::Full)
}

/// A tool call in the client.
#[cfg(feature = "mcp")]
#[derive(Debug, serde::Deserialize)]
struct ToolCall {
    /// The file of the session that it comes from.
    transcript: PathBuf,
    call: mcp::Asked,
}

/// Says what a tool call will do to the running session. Fails where that is left to the server (C-05).
#[cfg(feature = "mcp")]
fn ask(settings: &mcp::Settings, ui: &Ui) -> Result<Completion, CommandError> {
    let ToolCall { transcript, call } =
        serde_json::from_str(&read_input()?).context("read the tool call of the client")?;
    let later = mcp::announce(&call, &transcript, settings, ui);
    let later = later.ok_or_else(|| anyhow::anyhow!("nothing is to be done in the running session"))?;
    ui.data_line(serde_json::to_string(&later)?)?;
    Ok(Completion::Full)
}

fn look_after(upkeep: &Upkeep, ui: &Ui) -> Result<(), CommandError> {
    let input = read_input()?;
    let hook: Hook = serde_json::from_str(&input).context("read the hook input of the client")?;
    if hook.event == "SessionStart" && !upkeep.settle {
        advise(&hook, upkeep, ui)?;
        return if upkeep.keeps { go_on_later(&input) } else { Ok(()) };
    }
    let repaired = repair(&hook.transcript_path, ui)?;
    if hook.event == "SessionEnd" && !upkeep.settle {
        // The client waits 1.5 seconds.
        return if upkeep.keeps || repaired.is_some() { go_on_later(&input) } else { Ok(()) };
    }
    if let Some((reading, found)) = &repaired {
        archive(&hook.session_id, reading, found, &upkeep.archive, upkeep.on_server, ui)?;
    }
    if upkeep.settle && hook.event == "SessionStart" {
        return sweep(&hook.transcript_path, upkeep, ui);
    }
    if upkeep.settle && upkeep.keeps { keep_session(&hook.transcript_path, upkeep, ui) } else { Ok(()) }
}

/// Keeps the sessions beside `path` that were written lately, where their end was missed (C-07). What a compaction left open
/// there is repaired first: a session that is kept with it could not be undone.
fn sweep(path: &Path, upkeep: &Upkeep, ui: &Ui) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(path);
    let is_late = |path: &Path| {
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
        modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age < LATELY)
    };
    for entry in std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let other = entry?.path();
        let Some(id) = session_id(&other).filter(|_| other != path && is_late(&other)) else { continue };
        let swept = repair(&other, ui).and_then(|repaired| {
            if let Some((reading, found)) = &repaired {
                archive(id, reading, found, &upkeep.archive, upkeep.on_server, ui)?;
            }
            keep_session(&other, upkeep, ui)
        });
        if let Err(error) = swept {
            ui.detail(error.explained());
        }
    }
    Ok(())
}

/// Starts the rest of the work in a process that nobody waits for, and that does not end with the client.
fn go_on_later(input: &str) -> Result<(), CommandError> {
    let program = std::env::current_exe().context("find the program")?;
    let mut command = Command::new(program);
    command.args(["client", "repair", "--settle"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = of_its_own(&mut command).spawn().context("start the program")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).context("start the program")?;
    }
    Ok(())
}

#[cfg(unix)]
fn of_its_own(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.process_group(0)
}

#[cfg(not(unix))]
fn of_its_own(command: &mut Command) -> &mut Command {
    command
}

/// Keeps the session at `path`.
fn keep_session(path: &Path, upkeep: &Upkeep, ui: &Ui) -> Result<(), CommandError> {
    let which = keep::Which::One(Found::File { path: path.to_owned(), by: By::Path });
    let settings = keep::Settings {
        which,
        archive: upkeep.archive.clone(),
        on_server: upkeep.on_server,
        keep_max: None,
        reporting: Reporting { form: Form::Text, report: None, verb: "keep".to_owned() },
    };
    keep::run(&settings, ui).map(drop)
}

/// Tells the person, when a large session is resumed whose prompt cache has expired, that compacting costs nothing more
/// now (C-06).
fn advise(hook: &Hook, upkeep: &Upkeep, ui: &Ui) -> Result<(), CommandError> {
    let is_large = hook.context_tokens.saturating_mul(2) > upkeep.window.unwrap_or(Calibration::CHARS4.window).0;
    if hook.source != "resume" || !hook.prompt_cache_likely_expired || !is_large {
        return Ok(());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate of a count of tokens"
    )]
    let after = (hook.context_tokens as f64 * upkeep.part) as u64;
    let cost = if hook.estimated_cache_write_usd > 0.0 {
        format!(" (about ${:.2})", hook.estimated_cache_write_usd)
    } else {
        String::new()
    };
    let message = format!(
        "ctxc: {} tokens are in use and the prompt cache has expired, so the next message caches all of them again{cost}. \
         /compact now leaves about {}, without a request.",
        count(hook.context_tokens),
        count(after),
    );
    ui.data_line(json!({"systemMessage": message}))
}
