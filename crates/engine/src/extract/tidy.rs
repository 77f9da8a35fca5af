//! A last look at the choice: no heading or introduction that nothing is kept under, no fence left open.

use super::reading::Reading;
use super::select::Choice;
use crate::language::PieceKind;

/// `choices` in the order of the text, without frames that hold nothing, and with the closing line of every fence.
pub(super) fn tidy(reading: &Reading<'_>, choices: &[Choice]) -> Vec<Choice> {
    let mut kept: Vec<Choice> = choices.to_vec();
    kept.sort_unstable_by_key(|choice| choice.idx);
    kept.dedup_by_key(|choice| choice.idx);
    // From the back, since a frame may hold nothing but a frame that goes.
    let mut is_gone = vec![false; kept.len()];
    for n in (0..kept.len()).rev() {
        let is_empty = kept.get(n).is_some_and(|choice| is_empty_frame(reading, &kept, &is_gone, choice.idx));
        if let Some(slot) = is_gone.get_mut(n) {
            *slot = is_empty;
        }
    }
    let mut gone = is_gone.into_iter();
    kept.retain(|_| gone.next() != Some(true));
    let is_closer = |idx: usize| reading.pieces.get(idx).is_some_and(|piece| piece.kind == PieceKind::FenceClose);
    let closers = kept.iter().filter_map(|choice| reading.closers.get(choice.idx).copied().flatten());
    let mut closers: Vec<Choice> = closers.map(|idx| Choice { idx, part: None }).collect();
    kept.retain(|choice| !is_closer(choice.idx));
    kept.append(&mut closers);
    kept.sort_unstable_by_key(|choice| choice.idx);
    kept
}

/// Whether the piece only frames others, and none of them is in `kept`. The very only piece is no empty frame.
fn is_empty_frame(reading: &Reading<'_>, kept: &[Choice], is_gone: &[bool], idx: usize) -> bool {
    let is_fence = reading.pieces.get(idx).is_some_and(|piece| piece.kind == PieceKind::FenceOpen);
    if kept.len() <= 1 || !(is_fence || reading.introduces(idx)) {
        return false;
    }
    let children = reading.children.get(idx).map(Vec::as_slice).unwrap_or_default();
    let closer = reading.closers.get(idx).copied().flatten();
    let holds = |child: &usize| {
        let place = kept.binary_search_by_key(child, |choice| choice.idx).ok();
        Some(*child) != closer && place.and_then(|place| is_gone.get(place)) == Some(&false)
    };
    !children.iter().any(holds)
}
