//! What was exported, as data.

use schemars::JsonSchema;
use serde::Serialize;

use super::Format;
use crate::report::envelope::{Report, SessionRef};

/// What was exported to a file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ExportReport {
    /// The session, where one was exported.
    #[serde(skip)]
    pub session: Option<SessionRef>,
    /// The form.
    pub format: Format,
    /// The file; null for standard output.
    pub output: Option<String>,
    /// How many sessions are in it.
    pub sessions: u64,
    /// How many texts they have.
    pub texts: u64,
    /// Different secrets that placeholders stand for, counted in each session.
    pub secrets_replaced: u64,
    /// Sessions that could not be read, or say nothing.
    pub problems: Vec<ExportProblem>,
}

/// A session that is not in the export.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ExportProblem {
    /// Its file.
    pub path: String,
    /// Why.
    pub problem: String,
}

impl Report for ExportReport {
    fn session(&self) -> Option<&SessionRef> {
        self.session.as_ref()
    }
}
