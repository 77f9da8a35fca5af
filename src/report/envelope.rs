//! What every JSON result begins with, whatever the command (W-10).

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::look::clip;
use super::rewritten::Rewritten;
use ctxc_transcript::session::session_id;
use ctxc_transcript::text::Tokens;

/// The version of the JSON results.
const SCHEMA: u32 = 2;
/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The result of a command as data. Serialized by itself it is what the command has of its own; [`to_json`] puts before it
/// the envelope, and what every rewrite tells.
pub trait Report: Serialize {
    /// What every rewrite tells; `None` where the command rewrites nothing.
    fn rewritten(&self) -> Option<&Rewritten> {
        None
    }

    /// The session that was read; `None` where none or several were.
    fn session(&self) -> Option<&SessionRef> {
        self.rewritten().map(|rewritten| &rewritten.session)
    }

    /// The context usage of the session; `None` where the command does not measure it.
    fn context(&self) -> Option<ContextUsage> {
        self.rewritten().map(Rewritten::context)
    }
}

/// The keys that every result begins with.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Envelope<'a> {
    /// The version of this format.
    #[schemars(extend("const" = SCHEMA))]
    schema: u32,
    /// The version of ctxc.
    ctxc: &'a str,
    /// The command, such as `stats` or `archive list`.
    verb: &'a str,
    /// The session that was read; null where none or several were.
    session: Option<&'a SessionRef>,
    /// The context usage of that session; null where the command does not measure it.
    context: Option<ContextUsage>,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SessionRef {
    /// Its file; null for standard input.
    pub path: Option<String>,
    /// Its id; null where neither the file's name nor its entries have one.
    pub id: Option<String>,
    /// The title that the client shows.
    pub title: Option<String>,
    /// The folder that was worked in, where the session names one.
    pub project: Option<String>,
}

impl SessionRef {
    /// How people are told of it: its title and the beginning of its id, else its file.
    #[must_use]
    pub fn label(&self) -> String {
        self.label_within(TITLE_WIDTH)
    }

    /// As [`Self::label`], with a title of at most `width` columns.
    #[must_use]
    pub fn label_within(&self, width: usize) -> String {
        let path = self.path.as_deref().unwrap_or("standard input");
        match (self.title.as_deref(), self.path.as_deref().and_then(|path| session_id(Path::new(path)))) {
            (Some(title), Some(id)) => format!("{} ({})", clip(title, width), short_id(id)),
            _ => path.to_owned(),
        }
    }
}

/// The longest title in a line of text, in columns.
const TITLE_WIDTH: usize = 56;

/// The beginning of the id of a session, as long as tells sessions apart.
#[must_use]
pub fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// The context usage of a session: what a resume sends, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ContextUsage {
    /// Usage of the session as it was read, by the calibrated estimate.
    pub before: Tokens,
    /// Usage of the result, by the same estimate; null for a command that changes nothing.
    pub after: Option<Tokens>,
    /// The context window of the model.
    pub window: Tokens,
    /// Usage that the client recorded last in the session; null where it recorded none.
    pub measured: Option<Tokens>,
}

/// The result of a command that failed.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Failure<'a> {
    /// The version of this format.
    #[schemars(extend("const" = SCHEMA))]
    schema: u32,
    /// The version of ctxc.
    ctxc: &'a str,
    /// The command; null where none was recognized.
    verb: Option<&'a str>,
    /// The problem.
    error: ErrorReport,
}

/// A failure: the problem, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ErrorReport {
    /// The problem.
    pub message: String,
    /// Hints for what to do next, one per line.
    pub hint: Option<String>,
    /// The exit code.
    pub exit: u8,
}

/// The result of `verb` as one line of JSON: the envelope, what every rewrite tells, and what `report` has of its own.
///
/// # Errors
/// When the report cannot be serialized.
pub fn to_json(verb: &str, report: &impl Report) -> serde_json::Result<String> {
    let envelope =
        Envelope { schema: SCHEMA, ctxc: VERSION, verb, session: report.session(), context: report.context() };
    let mut object = serde_json::to_string(&envelope)?;
    if let Some(rewritten) = report.rewritten() {
        append(&mut object, &serde_json::to_string(rewritten)?);
    }
    append(&mut object, &serde_json::to_string(report)?);
    Ok(object)
}

/// Appends the keys of the object `other` to `object`. As text, so that a report of very many rows is not held as values
/// as well.
fn append(object: &mut String, other: &str) {
    if let Some(keys) = other.strip_prefix('{').filter(|keys| keys.len() > 1) {
        object.pop();
        object.push(',');
        object.push_str(keys);
    }
}

/// A failure of `verb` as one line of JSON.
///
/// # Errors
/// When it cannot be serialized.
pub fn failure_to_json(verb: Option<&str>, error: ErrorReport) -> serde_json::Result<String> {
    serde_json::to_string(&Failure { schema: SCHEMA, ctxc: VERSION, verb, error })
}
