//! One row for each text: flat, and with the same columns in every row, so that `DuckDB` and others can read it.

use serde::Serialize;

use super::Piece;
use crate::report::session::SessionRef;
use ctxc_core::apply::Speaker;
use ctxc_transcript::text::Tokens;

#[derive(Serialize)]
struct ExportRow<'a> {
    session: Option<&'a str>,
    turn: Option<usize>,
    step: Option<u64>,
    role: Speaker,
    kind: &'a str,
    tool: Option<&'a str>,
    text: &'a str,
    /// `chars4` tokens of the text.
    tokens: Tokens,
    time: Option<&'a str>,
}

pub(super) fn line(session: &SessionRef, piece: &Piece) -> serde_json::Result<String> {
    let Piece { turn, step, role, kind, text, tokens, .. } = piece;
    let row = ExportRow {
        session: session.id.as_deref().or(session.path.as_deref()),
        turn: *turn,
        step: *step,
        role: *role,
        kind,
        tool: piece.tool.as_deref(),
        text,
        tokens: *tokens,
        time: piece.time.as_deref(),
    };
    Ok(serde_json::to_string(&row)? + "\n")
}
