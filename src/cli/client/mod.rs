//! What ctxc does inside Claude Code: compacting in its place, repairing what that leaves, installing the plugin.
//!
//! `docs/decisions/0033-inside-the-client.md` has the reasons, `docs/agents.md` what was measured.

mod answer;
#[cfg(feature = "mcp")]
mod asked;
mod linear;
mod messages;
mod named;
mod planning;
mod plugin;
mod repair;
mod status_line;
mod view;

pub(crate) use answer::Request;
pub(crate) use planning::{CompactOptions, Plan, plan};
pub(crate) use plugin::{
    Mode, Touched, add_status_line, is_own_status_line, program_in, remove, remove_status_line, settings,
    skills_folder, version_in, write,
};
pub(crate) use repair::{ARCHIVE_WAIT, Hook, archive, archive_first, repair};
pub(crate) use status_line::{Status, status_line};
