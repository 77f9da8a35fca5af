//! Images that the model has seen and need not see again: a line of text in the place of each.

use std::collections::HashSet;
use std::io;

use super::cut::{Label, cut_of, is_cut};
use crate::apply::edit::rewrite::Rewrite;
use crate::apply::read::lines::each_page;
use crate::apply::read::page::Page;
use crate::apply::read::placeholder::{ArchiveRef, Placeholder};
use crate::plan::{Access, Call, Horizon, Place};
use ctxc_store::Cut;
use ctxc_transcript::edit::Splice;
use ctxc_transcript::scan::{Block, BlockKind, Kind};
use ctxc_transcript::text::{chars4, json_string};
use ctxc_transcript::{Chain, Flags, Index, LineSet, Transcript, block_tokens, turns};

/// The name of this way to cut.
pub(in crate::apply) const RULE: &str = "images";

/// Puts a line of text in the place of every image that is old enough. Returns what was cut.
///
/// # Errors
/// When the source cannot be read.
pub(in crate::apply) fn cut_images(
    transcript: Transcript<'_>,
    horizon: Horizon,
    calls: &[Call],
    archive_ref: &ArchiveRef,
    rewrite: &mut Rewrite,
) -> io::Result<Vec<Cut>> {
    let Transcript { file, index, chain } = transcript;
    let protected = calls.iter().filter(|call| call.access == Access::Protected);
    let protected: HashSet<Place> = protected.filter_map(|call| call.result).collect();
    let mut cuts = Vec::new();
    each_page(file, index, &image_candidates(index, chain, horizon), |page| {
        let line = page.line;
        // The result around the blocks that are nested.
        let mut around: Option<(u32, String)> = None;
        let mut found = Vec::new();
        for (at, block) in (0..).zip(&page.scan.blocks) {
            if !block.is_nested {
                around = (block.kind == BlockKind::ToolResult).then(|| (at, page.decoded(block.tool_id)));
            }
            let place = around.as_ref().map(|(at, _)| Place { line, block: *at });
            let call = around.as_ref().map(|(_, call)| call.clone());
            let stays = place.is_some_and(|place| protected.contains(&place));
            if block.kind == BlockKind::Image && !stays && !is_cut(rewrite, line, call.as_deref()) {
                found.push((block, call));
            }
        }
        for (block, call) in found {
            cuts.extend(cut_image(page, block, call, archive_ref, rewrite));
        }
    })?;
    Ok(cuts)
}

/// The live user entries that may hold an image and are old enough.
fn image_candidates(index: &Index, chain: &Chain, horizon: Horizon) -> LineSet {
    let turns = turns(index, chain);
    let mut lines = LineSet::default();
    let mut seen = HashSet::new();
    let mut turn = None;
    let mut starts = (0..).zip(&turns).peekable();
    for (place, &line) in chain.lines.iter().enumerate() {
        if let Some((turn_idx, _)) = starts.next_if(|(_, turn)| turn.places.start <= place) {
            turn = Some(turn_idx);
        }
        let record = index.record(line);
        seen.extend(record.message());
        let step = u32::try_from(seen.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let may_hold = record.kind == Kind::User && !record.flags.any(Flags::SINGLE);
        if may_hold && horizon.is_behind(step, turn) {
            lines.insert(line);
        }
    }
    lines
}

fn cut_image(
    page: Page<'_>,
    block: &Block,
    call: Option<String>,
    archive_ref: &ArchiveRef,
    rewrite: &mut Rewrite,
) -> Option<Cut> {
    let before = block_tokens(block, page.bytes);
    let placeholder = Placeholder { what: "image", fate: "removed", tokens: before, line: page.digest(), archive_ref };
    let text = placeholder.fitting();
    let after = chars4(&text);
    if after >= before {
        return None;
    }
    let kind = page.scan.format.text_type();
    let splice = Splice::new(block.span?, format!(r#"{{"type":"{kind}","text":{}}}"#, json_string::encode(&text)));
    rewrite.edit(page.line, [splice]);
    let cut = Cut { call, ..cut_of(page, Label { name: "image", rule: RULE }, before, after) };
    rewrite.cut(page.line, cut.clone());
    Some(cut)
}
