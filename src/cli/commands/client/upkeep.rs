//! What the plugin runs when a session starts or ends: it is repaired and kept.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::super::keep::{Keeping, Which, keep_sessions};
use super::process::{program, read_input};
use crate::cli::client::{Hook, archive, repair as mend};
use crate::cli::context::{Context, Form, Reporting};
use crate::report::size::count;
use crate::session::error::{CommandError, Completion};
use crate::session::options::Consent;
use ctxc_transcript::Calibration;
use ctxc_transcript::session::{Found, FoundBy, session_id};
use ctxc_transcript::text::Tokens;

/// Sessions that were written no longer ago are looked after when the next one starts.
const LATELY: Duration = Duration::from_secs(7 * 24 * 3600);

/// How a session is looked after.
#[derive(Debug)]
struct Upkeep {
    /// The URL of the archive.
    archive: String,
    /// Whether sessions may go there, where it is on a server.
    on_server: Consent,
    /// Whether sessions are kept when they end.
    keeps: bool,
    /// The context window in tokens, where it is configured.
    window: Option<Tokens>,
    /// The part of it that a compaction may leave in use.
    part: f64,
    /// Whether this is the process that goes on when the hook has ended.
    settle: bool,
}

/// Repairs and keeps the session that standard input names.
pub(super) fn repair(settle: bool, context: &Context<'_>) -> Result<Completion, CommandError> {
    let environment = context.environment;
    let upkeep = Upkeep {
        archive: environment.archive_url(None)?,
        on_server: environment.server_consent(),
        keeps: environment.config.client.keep,
        window: environment.config.window(),
        part: environment.config.client.target,
        settle,
    };
    // The client takes some exit codes of a hook for a wish to stop the turn, and nobody reads its words.
    if let Err(error) = look_after(&upkeep, context) {
        context.ui.detail(error.explained());
    }
    Ok(Completion::Full)
}

fn look_after(upkeep: &Upkeep, context: &Context<'_>) -> Result<(), CommandError> {
    let input = read_input()?;
    let hook: Hook = serde_json::from_str(&input).context("read the hook input of the client")?;
    if hook.event == "SessionStart" && !upkeep.settle {
        advise(&hook, upkeep, context)?;
        return if upkeep.keeps { go_on_later(&input) } else { Ok(()) };
    }
    let repaired = mend(&hook.transcript_path, context.ui)?;
    if hook.event == "SessionEnd" && !upkeep.settle {
        // The client waits 1.5 seconds.
        return if upkeep.keeps || repaired.is_some() { go_on_later(&input) } else { Ok(()) };
    }
    if let Some((reading, found)) = &repaired {
        archive(&hook.session_id, reading, found, &upkeep.archive, upkeep.on_server, context.ui)?;
    }
    if upkeep.settle && hook.event == "SessionStart" {
        return sweep(&hook.transcript_path, upkeep, context);
    }
    if upkeep.settle && upkeep.keeps { keep_session(&hook.transcript_path, upkeep, context) } else { Ok(()) }
}

/// Keeps the sessions beside `path` that were written lately, where their end was missed (C-07). What a compaction left open
/// there is repaired first: a session that is kept with it could not be undone.
fn sweep(path: &Path, upkeep: &Upkeep, context: &Context<'_>) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(path);
    let is_late = |path: &Path| {
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
        modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age < LATELY)
    };
    for entry in std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let other = entry?.path();
        let Some(id) = session_id(&other).filter(|_| other != path && is_late(&other)) else { continue };
        let swept = mend(&other, context.ui).and_then(|repaired| {
            if let Some((reading, found)) = &repaired {
                archive(id, reading, found, &upkeep.archive, upkeep.on_server, context.ui)?;
            }
            keep_session(&other, upkeep, context)
        });
        if let Err(error) = swept {
            context.ui.detail(error.explained());
        }
    }
    Ok(())
}

/// Starts the rest of the work in a process that nobody waits for, and that does not end with the client.
fn go_on_later(input: &str) -> Result<(), CommandError> {
    let mut command = Command::new(program()?);
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
fn keep_session(path: &Path, upkeep: &Upkeep, context: &Context<'_>) -> Result<(), CommandError> {
    let which = Which::One(Found::File { path: path.to_owned(), by: FoundBy::Path });
    let keeping = Keeping { which, archive: upkeep.archive.clone(), on_server: upkeep.on_server, keep_max: None };
    let reporting = Reporting { form: Form::Text, report: None, verb: "keep".to_owned() };
    keep_sessions(&keeping, &Context { reporting, ..context.clone() }).map(drop)
}

/// Tells the person, when a large session is resumed whose prompt cache has expired, that compacting costs nothing more
/// now (C-06).
fn advise(hook: &Hook, upkeep: &Upkeep, context: &Context<'_>) -> Result<(), CommandError> {
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
    Ok(context.ui.data_line(json!({"systemMessage": message}))?)
}
