//! One row for each text: flat, and with the same columns in every row, so that `DuckDB` and others can read it.

use serde::Serialize;

use super::ExportedText;
use crate::report::session::SessionRef;

#[derive(Serialize)]
struct ExportRow<'a> {
    session: Option<&'a str>,
    #[serde(flatten)]
    piece: &'a ExportedText,
}

pub(super) fn row_line(session: &SessionRef, piece: &ExportedText) -> serde_json::Result<String> {
    let session = session.id.as_deref().or(session.path.as_deref());
    Ok(serde_json::to_string(&ExportRow { session, piece })? + "\n")
}
