//! The unchanged beginning of a conversation, for which the prompt cache still holds.

use std::io;

use crate::apply::edit::transcript_changes::TranscriptChanges;
use ctxc_transcript::edit::splice_line;
use ctxc_transcript::scan::Scan;
use ctxc_transcript::text::Tokens;
use ctxc_transcript::{Index, LineNo, Transcript, context_tokens, read_line};

/// The `chars4` tokens at the beginning of `now` that are the same in `base` once `changes` is done to it; `None` where all
/// is the same.
///
/// # Errors
/// When a file cannot be read.
pub fn unchanged_tokens(
    now: Transcript<'_>,
    base: Transcript<'_>,
    changes: &TranscriptChanges,
) -> io::Result<Option<Tokens>> {
    let Transcript { file, index, chain } = now;
    let Transcript { file: base_file, index: base_index, chain: base_chain } = base;
    let is_sent = |index: &Index, line: LineNo| context_tokens(index, line) > Tokens::ZERO;
    let mut before = chain.lines.iter().copied().filter(|line| is_sent(index, *line));
    let left = base_chain.lines.iter().copied().filter(|line| !changes.dropped.contains(*line));
    let mut after = left.filter(|line| is_sent(base_index, *line));
    let mut unchanged = Tokens::ZERO;
    let (mut buffer, mut base_buffer) = (Vec::new(), Vec::new());
    loop {
        let (old, new) = match (before.next(), after.next()) {
            (Some(old), Some(new)) => (old, new),
            (None, None) => return Ok(None),
            (Some(_), None) | (None, Some(_)) => return Ok(Some(unchanged)),
        };
        let old_bytes = read_line(file, index, old, &mut buffer)?;
        let stored = read_line(base_file, base_index, new, &mut base_buffer)?;
        let rendered = match changes.edits.get(&new) {
            Some(splices) => splice_line(stored, splices).map_err(io::Error::other)?,
            None => stored.to_vec(),
        };
        if content_of(old_bytes) != content_of(&rendered) {
            return Ok(Some(unchanged));
        }
        unchanged += context_tokens(index, old);
    }
}

fn content_of(line: &[u8]) -> &[u8] {
    let scan = Scan::of(line);
    scan.message.and_then(|message| message.content).or(scan.attachment).map_or(line, |span| span.of(line))
}
