//! What `ctxc client` did to the files of the client, or found there.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// The outcome of installing or removing the plugin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Installed {
    /// The verb: `install` or `uninstall`.
    pub(crate) action: &'static str,
    /// Whether nothing was changed because of `--dry-run`.
    pub(crate) dry_run: bool,
    /// The files and the outcome of each: `written`, `replaced`, `unchanged` or `removed`.
    pub(crate) files: Vec<FileRow>,
    /// The archive in which sessions are stored when they end; null where they are not, and after an uninstall.
    pub(crate) kept_in: Option<String>,
}

/// A file and its outcome.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct FileRow {
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// The outcome.
    pub(crate) fate: String,
}

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let would = if self.dry_run { "would be " } else { "" };
        for FileRow { path, fate } in &self.files {
            writeln!(f, "{would}{fate}  {}", path.display())?;
        }
        let is_changed = self.files.iter().any(|file| file.fate != "unchanged");
        match self.action {
            "uninstall" if self.files.is_empty() => write!(f, "nothing is installed"),
            "uninstall" => write!(f, "the archive is kept; `ctxc archive gc` shrinks it"),
            _ => {
                if !is_changed {
                    writeln!(f, "nothing changed: this version is installed")?;
                }
                match &self.kept_in {
                    Some(place) => write!(
                        f,
                        "When a session ends, it is stored whole in {place}, with its subagents and tool results.\n\
                         To switch that off, set keep = false under [client] in your ctxc.toml.\n\
                         Restart Claude Code to use the plugin; `ctxc client uninstall` removes it."
                    ),
                    None => write!(
                        f,
                        "Sessions are not stored when they end (client.keep = false).\n\
                         Restart Claude Code to use the plugin; `ctxc client uninstall` removes it."
                    ),
                }
            }
        }
    }
}

/// The state of the plugin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct ClientStatus {
    /// The folder of the plugin.
    pub(crate) folder: PathBuf,
    /// The version of the installed plugin; null without one.
    pub(crate) version: Option<String>,
    /// The version of this program.
    pub(crate) program_version: &'static str,
    /// The newest version of Claude Code that this program was proven with.
    pub(crate) proven_client: &'static str,
    /// The path of the program that the plugin runs.
    pub(crate) program: Option<PathBuf>,
    /// Whether that program exists.
    pub(crate) program_is_there: bool,
    /// Whether the settings of the client disable all plugins and hooks.
    pub(crate) hooks_disabled: bool,
    /// Whether the status line of the client is that of ctxc.
    pub(crate) status_line: bool,
    /// The archive in which sessions are stored when they end; null where they are not.
    pub(crate) kept_in: Option<String>,
}

impl fmt::Display for ClientStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, version, program_version, program, program_is_there, .. } = self;
        match version {
            None => writeln!(f, "plugin       not installed; `ctxc client install` installs it")?,
            Some(version) if version == program_version => {
                writeln!(f, "plugin       {version}, in {}", folder.display())?;
            }
            Some(version) => writeln!(
                f,
                "plugin       {version}, in {}; this program is {program_version}: `ctxc client install` updates it",
                folder.display()
            )?,
        }
        if let Some(program) = program {
            let missing = if *program_is_there { "" } else { " (not there: run `ctxc client install` again)" };
            writeln!(f, "program      {}{missing}", program.display())?;
        }
        if version.is_some() {
            let on = if self.hooks_disabled { "off: disableAllHooks is set in its settings" } else { "on" };
            writeln!(f, "in client    {on}")?;
        }
        writeln!(f, "status line  {}", if self.status_line { "installed" } else { "not installed" })?;
        writeln!(f, "proven with  Claude Code {}", self.proven_client)?;
        match &self.kept_in {
            Some(place) => write!(f, "sessions     stored in {place} when they end"),
            None => write!(f, "sessions     not stored when they end"),
        }
    }
}
