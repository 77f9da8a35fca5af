//! The work of ctxc inside Claude Code: compacting in its place, repairing the gap after that, installing the plugin.
//!
//! `docs/decisions/0033-inside-the-client.md` has the reasons, `docs/client-tests.md` the measurements.

mod answer;
#[cfg(feature = "mcp")]
mod asked;
mod files;
mod found_client;
mod handles;
mod jsonc;
mod line_setting;
mod linear;
mod messages;
mod named;
mod planning;
mod plugin;
mod preview;
mod repair;
mod settings;
mod status_line;
mod switches;
mod view;

pub(crate) use answer::Request;
pub(crate) use files::{Touched, WriteMode};
pub(crate) use found_client::{FoundClient, find_client};
pub(crate) use line_setting::{LineOwner, line_owner};
pub(crate) use planning::{ClientPlan, CompactOptions, plan};
pub(crate) use plugin::{add_status_line, program_in, remove, remove_status_line, skills_folder, version_in, write};
pub(crate) use preview::Preview;
pub(crate) use repair::{ARCHIVE_WAIT, Hook, archive, archive_first, archive_unstored, repair};
pub(crate) use settings::Settings;
pub(crate) use status_line::{Status, status_line};
pub(crate) use switches::{Layers, managed_folder};
