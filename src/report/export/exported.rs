//! The result of an export, as data.

use schemars::JsonSchema;
use serde::Serialize;

use super::Format;
use crate::report::session::SessionRef;

/// The result of an export to a file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct ExportReport {
    /// The session, if a single one was exported.
    #[serde(skip)]
    pub(crate) session: Option<SessionRef>,
    /// The form.
    pub(crate) format: Format,
    /// The file; null for standard output.
    pub(crate) output: Option<String>,
    /// The number of sessions exported.
    pub(crate) sessions: u64,
    /// The number of texts exported.
    pub(crate) texts: u64,
    /// The number of distinct secrets replaced by placeholders, counted per session.
    pub(crate) secrets_replaced: u64,
    /// Sessions that could not be read or have no text.
    pub(crate) problems: Vec<ExportProblem>,
}

/// A session that is not in the export.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct ExportProblem {
    /// Its file.
    pub(crate) path: String,
    /// Why.
    pub(crate) problem: String,
}
