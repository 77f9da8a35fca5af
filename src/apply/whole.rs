//! Whether giving items back makes a transcript what it was at first, but for what no item brings back: thinking, and
//! what follows from edits (P-05).

use std::collections::HashMap;
use std::fs::File;
use std::io::Seek;

use super::{ApplyError, Rewrite};
use crate::text::Tokens;
use crate::transcript::edit::render;
use crate::transcript::scan::{Block, BlockKind, Kind, Scan};
use crate::transcript::{IdHash, Index, LineNo, LineReader, measure, read_line};

/// Whether the transcript that `index` is of is, with `rewrite`, the one in `source` but for thinking, links, usage and
/// sessions, and for entries that are not sent.
///
/// # Errors
/// When one of both cannot be read.
pub fn is_whole(file: &File, index: &Index, rewrite: &Rewrite, mut source: &File) -> Result<bool, ApplyError> {
    let chained = index.lines().filter(|&line| index.record(line).is_chained());
    let lines: HashMap<IdHash, LineNo> = chained.map(|line| (index.record(line).uuid, line)).collect();
    source.rewind().map_err(ApplyError::Read)?;
    let mut reader = LineReader::new(source);
    let mut scan = Scan::default();
    let mut buffer = Vec::new();
    while let Some(was) = reader.next_line().map_err(ApplyError::Read)? {
        scan.read(was);
        let Some(uuid) = scan.uuid.filter(|_| scan.kind.is_chained()).and_then(|span| span.string(was)) else {
            continue;
        };
        let Some(&line) = lines.get(&IdHash::of(uuid)) else {
            if is_thinking_alone(&scan) {
                continue;
            }
            return Ok(false);
        };
        let edits = rewrite.edits.get(&line).map(Vec::as_slice).unwrap_or_default();
        let now = read_line(file, index, line, &mut buffer).map_err(ApplyError::Read)?;
        let number = line.number();
        let now = render(now, edits).map_err(|overlap| ApplyError::Edit { line: number, overlap })?;
        if essence(&Scan::of(&now), &now) != essence(&scan, was) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What items are part of: the content without thinking, and the client's copy of results.
pub(super) fn essence<'l>(scan: &Scan, line: &'l [u8]) -> (Vec<&'l [u8]>, &'l [u8]) {
    let content = scan.string_content(line);
    let blocks = scan.outer_blocks().filter(|block| block.kind != BlockKind::Thinking);
    let blocks = blocks.filter_map(|block| block.span).map(|span| span.of(line));
    (content.into_iter().chain(blocks).collect(), scan.tool_use_result.map_or(&[], |span| span.of(line)))
}

fn is_thinking_alone(scan: &Scan) -> bool {
    let mut blocks = scan.outer_blocks().peekable();
    let is_thinking = |block: &Block| block.kind == BlockKind::Thinking;
    scan.kind == Kind::Assistant && blocks.peek().is_some() && blocks.all(is_thinking)
}

/// What the model sees of a line, thinking aside, in `chars4` tokens.
pub(super) fn seen(line: &[u8]) -> i64 {
    let mut seen = Tokens::ZERO;
    measure(&Scan::of(line), line, |part, tokens| {
        if !part.is_thinking() {
            seen += tokens;
        }
    });
    seen.0.cast_signed()
}
