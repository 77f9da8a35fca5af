//! The commands with which agents resume sessions.

use std::path::Path;

use ctxc_core::apply::shell_word;
use ctxc_transcript::Format;
use ctxc_transcript::session::{format_of_file_name, session_of_subagent, subagent_id};

/// The command that resumes the new session `id` at `path`. The client only finds it in its `project`, which is given if it is
/// not the current folder. A subagent is resumed by its session.
pub(crate) fn resume_command(id: &str, path: &Path, project: Option<&str>) -> String {
    let change = project.map_or_else(String::new, |folder| format!("cd {} && ", shell_word(folder)));
    if let Some(agent) = subagent_id(path) {
        let session = session_of_subagent(path).ok().flatten().unwrap_or_else(|| "SESSION".to_owned());
        return format!("{change}claude --resume {session} \"Use SendMessage to go on with agent {agent}\"");
    }
    match format_of_file_name(path) {
        Some(Format::Pi) if is_among_projects(path) => format!("{change}pi --session {id}"),
        Some(Format::Pi) => format!("{change}pi --session {}", shell_word(&path.display().to_string())),
        Some(Format::Codex) if is_among_projects(path) => format!("{change}codex resume {id}"),
        Some(Format::Codex) => format!("codex resume {id} (after moving it into its folder in ~/.codex/sessions)"),
        Some(Format::Claude) | None if is_among_projects(path) => format!("{change}claude --resume {id}"),
        Some(Format::Claude) | None => {
            format!("claude --resume {id} (after moving it into its project folder in ~/.claude/projects)")
        }
    }
}

/// Whether the client, and a search by id, finds the session at `path`.
pub(crate) fn is_among_projects(path: &Path) -> bool {
    let grandparent = |name| path.parent().and_then(Path::parent).is_some_and(|folder| folder.ends_with(name));
    match format_of_file_name(path) {
        Some(Format::Pi) => grandparent("sessions"),
        Some(Format::Claude) | None => grandparent("projects"),
        // By year, month and day; archived ones lie side by side.
        Some(Format::Codex) => {
            let of_days = path.ancestors().nth(4).is_some_and(|folder| folder.ends_with("sessions"));
            of_days || path.parent().is_some_and(|folder| folder.ends_with("archived_sessions"))
        }
    }
}
