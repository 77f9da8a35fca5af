//! Sessions in the forms of other programs (Y-03): rows, Markdown, trajectories, chat messages.
//!
//! [`Piece`]s go in, one for each text of the active entries, in their order; text comes out. Rows and Markdown are written
//! as the pieces come; a trajectory and a chat hold the texts of one session.

mod atif;
mod markdown;
mod openai;
mod piece;
mod row;
mod steps;

use std::fmt::Write;

pub use piece::{Piece, Spent};

use super::envelope::{Report, SessionRef};
use schemars::JsonSchema;
use serde::Serialize;
use steps::Steps;

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// One JSON object for each text.
    Ndjson,
    /// For people.
    Markdown,
    /// One trajectory a line, in the Agent Trajectory Interchange Format 1.7 of Harbor.
    Atif,
    /// One object with chat messages a line, as the chat completions API takes them.
    Openai,
}

/// One session on its way into a form.
#[derive(Debug)]
pub struct Export<'a> {
    session: &'a SessionRef,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Ndjson,
    Markdown(markdown::Place),
    Atif(Steps),
    Openai(Steps),
}

impl<'a> Export<'a> {
    /// An export of `session`, of which nothing has been read yet.
    #[must_use]
    pub fn new(format: Format, session: &'a SessionRef) -> Self {
        let form = match format {
            Format::Ndjson => Form::Ndjson,
            Format::Markdown => Form::Markdown(markdown::Place::default()),
            Format::Atif => Form::Atif(Steps::default()),
            Format::Openai => Form::Openai(Steps::default()),
        };
        Self { session, form }
    }

    /// Takes the next text, and gives what can be written by now.
    ///
    /// # Errors
    /// When it cannot be serialized.
    pub fn add(&mut self, piece: Piece) -> serde_json::Result<String> {
        match &mut self.form {
            Form::Ndjson => row::line(self.session, &piece),
            Form::Markdown(place) => Ok(place.add(self.session, &piece)),
            Form::Atif(steps) | Form::Openai(steps) => {
                steps.add(piece);
                Ok(String::new())
            }
        }
    }

    /// What is left to be written; `None` for a session that says nothing, which a trajectory cannot be made of.
    ///
    /// # Errors
    /// When it cannot be serialized.
    pub fn end(self) -> serde_json::Result<Option<String>> {
        let mut line = match self.form {
            Form::Ndjson => return Ok(Some(String::new())),
            Form::Markdown(place) => return Ok(Some(place.end(self.session))),
            Form::Atif(steps) | Form::Openai(steps) if steps.is_empty() => return Ok(None),
            Form::Atif(steps) => atif::trajectory(self.session, &steps)?,
            Form::Openai(steps) => openai::chat(&steps)?,
        };
        // Writing to a string does not fail.
        let _ = writeln!(line);
        Ok(Some(line))
    }
}

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
