//! Reads the client's note beside the result of a read: which lines it holds.

use crate::apply::read::page::ScannedLine;
use crate::plan::LineRange;
use ctxc_transcript::Span;
use ctxc_transcript::scan::each_field;

/// The client's note about a file that was read, from its copy of the result.
#[derive(Default)]
pub(in crate::apply) struct ReadNote {
    /// The lines that were read; to the end of the file where they reach it.
    pub(in crate::apply) lines: Option<LineRange>,
    /// Whether it is but said that an earlier result still holds.
    pub(in crate::apply) is_unchanged: bool,
}

impl ReadNote {
    /// The note in the line of a result, where there is one.
    pub(in crate::apply) fn of(page: ScannedLine<'_>) -> Self {
        let mut note = Self::default();
        let Some(span) = page.scan.tool_use_result else { return note };
        let object = span.of(page.bytes);
        let mut file = None;
        if object.starts_with(b"{") {
            each_field(object, |key, value| match key {
                b"type" => note.is_unchanged = value.string_in(object) == Some(b"file_unchanged"),
                b"file" => file = Some(value.of(object)),
                _ => {}
            });
        }
        note.lines = file.and_then(lines_of);
        note
    }
}

/// The lines that were read, from the client's note of them; to the end of the file where they reach it.
fn lines_of(file: &[u8]) -> Option<LineRange> {
    let number = |value: Span| std::str::from_utf8(value.of(file)).ok().and_then(|digits| digits.parse::<u32>().ok());
    let (mut start, mut n_lines, mut n_all) = (None, None, None);
    each_field(file, |key, value| match key {
        b"startLine" => start = number(value),
        b"numLines" => n_lines = number(value),
        b"totalLines" => n_all = number(value),
        _ => {}
    });
    let start = start?.max(1);
    let end = start.saturating_add(n_lines?);
    Some(LineRange { start, end: if n_all.is_some_and(|n_all| end > n_all) { u32::MAX } else { end } })
}
