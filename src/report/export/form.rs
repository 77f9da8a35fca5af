//! The formats, and the conversion of a session into one.

use std::fmt::Write;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::steps::Steps;
use super::{Piece, atif, markdown, openai, row};
use crate::report::session::SessionRef;

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// One JSON object for each text.
    #[value(help = "One JSON row for each text")]
    Ndjson,
    /// Markdown for people.
    #[value(help = "Markdown for people")]
    Markdown,
    /// One trajectory a line, in the Agent Trajectory Interchange Format 1.7 of Harbor.
    #[value(help = "Agent Trajectory Interchange Format 1.7, one trajectory a line")]
    Atif,
    /// One object with chat messages a line, as the chat completions API takes them.
    #[value(help = "Chat messages, one session a line")]
    Openai,
}

/// The conversion of one session into a format.
#[derive(Debug)]
pub(crate) struct Export<'a> {
    session: &'a SessionRef,
    form: ExportForm,
}

#[derive(Debug)]
enum ExportForm {
    Ndjson,
    Markdown(markdown::MarkdownPlace),
    Atif(Steps),
    Openai(Steps),
}

impl<'a> Export<'a> {
    /// An export of `session` without any text yet.
    pub(crate) fn new(format: Format, session: &'a SessionRef) -> Self {
        let form = match format {
            Format::Ndjson => ExportForm::Ndjson,
            Format::Markdown => ExportForm::Markdown(markdown::MarkdownPlace::default()),
            Format::Atif => ExportForm::Atif(Steps::default()),
            Format::Openai => ExportForm::Openai(Steps::default()),
        };
        Self { session, form }
    }

    /// Adds the next text, and returns the output that is ready to be written.
    ///
    /// # Errors
    /// When it cannot be serialized.
    pub(crate) fn add(&mut self, piece: Piece) -> serde_json::Result<String> {
        match &mut self.form {
            ExportForm::Ndjson => row::line(self.session, &piece),
            ExportForm::Markdown(place) => Ok(place.add(self.session, &piece)),
            ExportForm::Atif(steps) | ExportForm::Openai(steps) => {
                steps.add(piece);
                Ok(String::new())
            }
        }
    }

    /// The end of the document; `None` for a session without text if its format has no empty document.
    ///
    /// # Errors
    /// When it cannot be serialized.
    pub(crate) fn end(self) -> serde_json::Result<Option<String>> {
        let mut line = match self.form {
            ExportForm::Ndjson => return Ok(Some(String::new())),
            ExportForm::Markdown(place) => return Ok(Some(place.end(self.session))),
            ExportForm::Atif(steps) | ExportForm::Openai(steps) if steps.is_empty() => return Ok(None),
            ExportForm::Atif(steps) => atif::trajectory(self.session, &steps)?,
            ExportForm::Openai(steps) => openai::chat(&steps)?,
        };
        // Writing to a string does not fail.
        let _ = writeln!(line);
        Ok(Some(line))
    }
}
