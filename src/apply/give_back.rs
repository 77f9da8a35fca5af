//! Items that were cut, given back one by one (P-05).

use std::collections::BTreeMap;
use std::fs::File;

use super::graft::{Original, Side, graft_call, graft_copy, graft_text};
use super::whole::seen;
use super::{ApplyError, OpenCut, Rewrite};
use crate::archive::{Archive, ArchiveError, Cut, Operation};
use crate::text::Tokens;
use crate::transcript::edit::{Splice, render};
use crate::transcript::scan::{BlockKind, Scan};
use crate::transcript::{IdHash, Index, LineNo, Part, measure, read_line, result_tokens};

/// What became of an item that was to be given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// It is what it was.
    Restored(Cut),
    /// Its entry is not there any more; this operation took it out, where one did.
    Gone(Option<String>),
    /// The archive does not have what it was.
    Lost,
    /// What stands there is not what ctxc left there.
    Changed,
}

/// Gives back every item of `cuts` that can be, by edits of `rewrite`. Returns what became of each, in their order.
///
/// # Errors
/// When the transcript or the archive cannot be read.
pub fn give_back(
    file: &File,
    index: &Index,
    lineage: &[Operation],
    archive: &dyn Archive,
    cuts: &[OpenCut],
    rewrite: &mut Rewrite,
) -> Result<Vec<Returned>, ApplyError> {
    let mut returned: Vec<Option<Returned>> = vec![None; cuts.len()];
    let lines = index.lines_of(cuts.iter().map(|cut| IdHash::of(cut.uuid.as_bytes())));
    let mut by_line: BTreeMap<LineNo, Vec<usize>> = BTreeMap::new();
    for (at, (cut, returned)) in cuts.iter().zip(&mut returned).enumerate() {
        match lines.get(&IdHash::of(cut.uuid.as_bytes())).filter(|line| !rewrite.dropped.contains(**line)) {
            Some(&line) => by_line.entry(line).or_default().push(at),
            None => *returned = Some(Returned::Gone(dropped_by(&cut.uuid, lineage, archive)?)),
        }
    }
    let mut buffer = Vec::new();
    let mut scan = Scan::default();
    for (line, places) in by_line {
        let bytes = read_line(file, index, line, &mut buffer).map_err(ApplyError::Read)?;
        scan.read(bytes);
        let now = Side { bytes, scan: &scan };
        let mut items = Vec::new();
        for at in places {
            let Some(cut) = cuts.get(at) else { continue };
            match original(cut, archive)?.filter(|_| is_as_left(now, cut)) {
                Some(original) => items.push(Item { at, cut, original }),
                None if is_as_left(now, cut) => put(&mut returned, at, Returned::Lost),
                None => put(&mut returned, at, Returned::Changed),
            }
        }
        for (at, answer) in give_back_to(now, line, &items, rewrite) {
            put(&mut returned, at, answer);
        }
    }
    Ok(returned.into_iter().flatten().collect())
}

fn put(returned: &mut [Option<Returned>], at: usize, answer: Returned) {
    if let Some(place) = returned.get_mut(at) {
        *place = Some(answer);
    }
}

/// An item to be given back, its place among all, and the line that had it.
struct Item<'a> {
    at: usize,
    cut: &'a OpenCut,
    original: Original,
}

/// Gives `items` back to their line.
fn give_back_to(now: Side<'_>, line: LineNo, items: &[Item<'_>], rewrite: &mut Rewrite) -> Vec<(usize, Returned)> {
    let mut answers = Vec::new();
    let mut splices = Vec::new();
    let mut calls = BTreeMap::new();
    for item in items {
        let Some(call) = item.cut.call.as_deref() else { continue };
        let Some(graft) = graft_call(now, &item.original, call) else {
            answers.push((item.at, Returned::Changed));
            continue;
        };
        answers.push((item.at, Returned::Restored(restored(now, item.cut, &graft))));
        splices.extend(graft);
        calls.insert(call, &item.original);
    }
    for item in items.iter().filter(|item| item.cut.call.is_none()) {
        let alone = graft_text(now, &item.original, &BTreeMap::new());
        let Some((alone, all)) = alone.zip(graft_text(now, &item.original, &calls)) else {
            answers.push((item.at, Returned::Changed));
            continue;
        };
        answers.push((item.at, Returned::Restored(restored(now, item.cut, &alone))));
        // It has the calls in it.
        splices = all;
    }
    if splices.is_empty() {
        return answers;
    }
    rewrite.edit(line, splices);
    for (_, answer) in &answers {
        if let Returned::Restored(cut) = answer {
            rewrite.cut(line, cut.clone());
        }
    }
    let copy = items.iter().find_map(|item| graft_copy(now, &item.original, &calls));
    rewrite.edit(line, copy);
    answers
}

/// Whether the item is as the operation left it that cut it last.
fn is_as_left(now: Side<'_>, cut: &OpenCut) -> bool {
    // What these leave of an item is not counted apart from the rest of it.
    if matches!(cut.rule.as_str(), "images" | "inputs") {
        return true;
    }
    let Some(call) = &cut.call else {
        let mut text = Tokens::ZERO;
        measure(now.scan, now.bytes, |part, tokens| {
            if part == Part::Text {
                text += tokens;
            }
        });
        return text == cut.after;
    };
    let results = now.scan.blocks.iter().enumerate().filter(|(_, block)| block.kind == BlockKind::ToolResult);
    let mut results = results.filter(|(_, block)| !block.is_nested);
    results.any(|(at, block)| now.call_of(block) == *call && result_tokens(now.scan, now.bytes, at) == cut.after)
}

/// What is noted of an item that is given back: what it was while it was cut, and what it is again.
fn restored(now: Side<'_>, cut: &OpenCut, splices: &[Splice]) -> Cut {
    let before = cut.after;
    let rendered = render(now.bytes, splices).unwrap_or_else(|_| now.bytes.to_vec());
    let gained = seen(&rendered) - seen(now.bytes);
    Cut {
        uuid: cut.uuid.clone(),
        call: cut.call.clone(),
        name: cut.name.clone(),
        rule: Cut::RESTORE.to_owned(),
        before,
        after: Tokens(before.0.saturating_add_signed(gained)),
    }
}

/// The line that had the item; `None` where the archive has lost it.
pub(super) fn original(cut: &OpenCut, archive: &dyn Archive) -> Result<Option<Original>, ApplyError> {
    let known = archive.originals_of(&cut.uuid).map_err(ApplyError::Archive)?;
    let mut taken = known.into_iter().filter(|it| it.replaced_by.is_some());
    let Some(taken) = taken.find(|it| it.operation.as_ref() == Some(&cut.first)) else { return Ok(None) };
    match archive.line(taken.digest) {
        Ok(line) => Ok(line.map(Original::new)),
        Err(ArchiveError::Damaged { .. }) => Ok(None),
        Err(error) => Err(ApplyError::Archive(error)),
    }
}

/// The operation of `lineage` that took the entry out.
fn dropped_by(uuid: &str, lineage: &[Operation], archive: &dyn Archive) -> Result<Option<String>, ApplyError> {
    let known = archive.originals_of(uuid).map_err(ApplyError::Archive)?;
    let dropped: Vec<_> =
        known.into_iter().filter(|it| it.replaced_by.is_none()).filter_map(|it| it.operation).collect();
    Ok(lineage.iter().map(|operation| &operation.id).find(|id| dropped.contains(id)).cloned())
}
