//! What is as it should be, and what needs doing (W-08).

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Report;
use super::size::{bytes, counted};
use super::table::{Cell, Look, Table};

/// What was looked at, and what was found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Doctor {
    /// The version of ctxc, which the envelope tells too.
    #[serde(skip)]
    pub version: &'static str,
    /// The client.
    pub client: Client,
    /// The archive.
    pub archive: ArchiveState,
    /// How many sessions of this project were checked.
    pub sessions_checked: u64,
    /// What needs doing.
    pub findings: Vec<Finding>,
    #[serde(skip)]
    look: Look,
}

impl Report for Doctor {}

/// The client, as its files show it.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Client {
    /// Its folder.
    pub folder: Option<String>,
    /// Whether that is there.
    pub is_found: bool,
    /// The version that wrote the newest session of this project.
    pub version: Option<String>,
    /// After how many days it deletes sessions.
    pub cleanup_days: i64,
}

/// The archive.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct ArchiveState {
    /// Its URL, without a password.
    pub url: Option<String>,
    /// Whether it is there.
    pub is_there: bool,
    /// Its schema, of one that is a file.
    pub schema: Option<i64>,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Its operations.
    pub operations: u64,
    /// How many sessions it keeps.
    pub n_sessions: u64,
    /// The largest of them.
    pub largest: Vec<SessionBytes>,
}

/// What a session takes up in the archive.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SessionBytes {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it takes up, compressed.
    pub stored_bytes: u64,
}

/// Something that needs doing.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Finding {
    /// What it is about: `archive`, `client`, `configuration` or `session`.
    pub about: &'static str,
    /// What is wrong.
    pub problem: String,
    /// The command, or the change, that helps.
    pub help: String,
}

impl Doctor {
    /// Nothing found yet.
    #[must_use]
    pub fn new(version: &'static str, look: Look) -> Self {
        let (client, archive) = (Client::default(), ArchiveState::default());
        Self { version, client, archive, sessions_checked: 0, findings: Vec::new(), look }
    }

    /// Notes what needs doing.
    pub fn find(&mut self, about: &'static str, problem: impl Into<String>, help: impl Into<String>) {
        self.findings.push(Finding { about, problem: problem.into(), help: help.into() });
    }
}

impl fmt::Display for Doctor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, client, archive, .. } = self;
        writeln!(f, "ctxc      {version}")?;
        match (&client.folder, client.is_found) {
            (Some(folder), true) => {
                let version = client.version.as_ref().map(|version| format!("Claude Code {version}, "));
                write!(f, "client    {}{folder}", version.unwrap_or_default())?;
                writeln!(f, " (sessions deleted after {})", counted(client.cleanup_days.unsigned_abs(), "day"))?;
            }
            (Some(folder), false) => writeln!(f, "client    not found: no folder {folder}")?,
            (None, _) => writeln!(f, "client    not found: no home folder")?,
        }
        match &archive.url {
            Some(url) if archive.is_there => {
                write!(f, "archive   {url}")?;
                let schema = archive.schema.map(|schema| format!("schema {schema}"));
                let facts = [
                    schema,
                    archive.bytes.map(bytes),
                    Some(counted(archive.operations, "operation")),
                    Some(counted(archive.n_sessions, "session")),
                ];
                let facts: Vec<String> = facts.into_iter().flatten().collect();
                writeln!(f, "\n          {}", facts.join(", "))?;
            }
            Some(url) => writeln!(f, "archive   none yet: {url}")?,
            None => writeln!(f, "archive   none configured")?,
        }
        writeln!(f, "project   {} checked", counted(self.sessions_checked, "session"))?;
        if !archive.largest.is_empty() {
            let mut table = Table::new(&["largest", "stored", "title"]);
            for session in &archive.largest {
                let id: String = session.id.chars().take(8).collect();
                table.push(vec![id.into(), Cell::Bytes(session.stored_bytes), session.title.as_str().into()]);
            }
            write!(f, "\n{}", table.render(self.look))?;
        }
        for Finding { about, problem, help } in &self.findings {
            write!(f, "\n{about}: {problem}\n  {help}\n")?;
        }
        Ok(())
    }
}
