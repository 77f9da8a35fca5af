//! The session and its context usage as results report them.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::look::clip_to_width;
use ctxc_transcript::session::session_id;
use ctxc_transcript::text::Tokens;

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct SessionRef {
    /// Its file; null for standard input.
    pub(crate) path: Option<String>,
    /// Its id; null where neither the file's name nor its entries have one.
    pub(crate) id: Option<String>,
    /// The title that the client shows.
    pub(crate) title: Option<String>,
    /// The folder that was worked in, where the session names one.
    pub(crate) project: Option<String>,
}

impl SessionRef {
    /// The label in text: title and beginning of the id, else the path.
    pub(crate) fn short_label(&self) -> String {
        self.label_within(TITLE_WIDTH)
    }

    /// As [`Self::short_label`], with a title of at most `width` columns.
    pub(crate) fn label_within(&self, width: usize) -> String {
        let path = self.path.as_deref().unwrap_or("standard input");
        match (self.title.as_deref(), self.path.as_deref().and_then(|path| session_id(Path::new(path)))) {
            (Some(title), Some(id)) => format!("{} ({})", clip_to_width(title, width), short_id(id)),
            _ => path.to_owned(),
        }
    }
}

/// The maximum width of a title in a line of text, in columns.
const TITLE_WIDTH: usize = 56;

/// The first eight characters of a session id, which are enough to tell sessions apart.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// The context usage of a session: what a resume sends, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct ContextUsage {
    /// Usage of the session as it was read, by the calibrated estimate.
    pub(crate) before: Tokens,
    /// Usage of the result, by the same estimate; null for a command that changes nothing.
    pub(crate) after: Option<Tokens>,
    /// The context window of the model.
    pub(crate) window: Tokens,
    /// Usage that the client recorded last in the session; null where it recorded none.
    pub(crate) measured: Option<Tokens>,
}
