//! Which of the cuts of a transcript targets name: calls by their handles, messages by how they started and ended
//! before they were cut (P-05).

use std::collections::{HashMap, HashSet};

use crate::apply::error::ApplyError;
use crate::apply::read::calls::{Calls, read_calls};
use crate::apply::read::describe::describe;
use crate::apply::read::named::{Named, find_named, texts};
use crate::apply::read::page::Page;
use crate::apply::undo::open_cuts::OpenCut;
use crate::plan::{Fits, Handle, Handles, PatternTargets, Protected, Roles, Target};
use ctxc_store::{Archive, ArchiveError};
use ctxc_transcript::scan::Scan;
use ctxc_transcript::{LineNo, Transcript};

/// The removed items that a target names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// Nothing at all: nor is there anything of it in the transcript.
    Nothing,
    /// Something that is there and is not cut.
    NotCut,
    /// These cuts of one thing, by their places.
    Cuts(Vec<usize>),
    /// Cuts of several things, and it does not tell which.
    Several(Vec<usize>),
}

/// Finds what each of `targets` names among the `open` cuts of `transcript`.
///
/// # Errors
/// When the transcript or the archive cannot be read.
pub fn recall(
    transcript: Transcript<'_>,
    open: &[OpenCut],
    targets: &[&Target],
    roles: Roles,
    archive: &dyn Archive,
) -> Result<Vec<Recalled>, ApplyError> {
    let mut recalled = by_text(open, targets, roles, archive)?;
    for (target, recalled) in targets.iter().zip(&mut recalled) {
        let Target::Call(handle) = target else { continue };
        let name = handle.to_string();
        *recalled = of_calls(open, |cut| cut.name == name);
    }
    // What the archive does not tell at once, the transcript may.
    let left: Vec<usize> = (0..).zip(&recalled).filter(|(_, it)| **it == Recalled::Nothing).map(|(at, _)| at).collect();
    if left.is_empty() {
        return Ok(recalled);
    }
    let unknown: Vec<&Target> = left.iter().filter_map(|at| targets.get(*at).copied()).collect();
    let calls = if unknown.iter().any(|target| matches!(target, Target::Call(_))) {
        read_calls(transcript, &Protected::default())?
    } else {
        Calls::default()
    };
    let named = find_named(transcript, &calls, &unknown, roles)?;
    let ids = ids(transcript, &calls, &named)?;
    let mut ours: HashMap<String, Handles> = HashMap::new();
    for ((at, target), named) in left.into_iter().zip(unknown).zip(named) {
        let answer = match (target, named) {
            (_, Named::Call(call_idx)) => match of_calls(open, |cut| cut.call.as_ref() == ids.get(&call_idx)) {
                Recalled::Nothing => Recalled::NotCut,
                cuts => cuts,
            },
            (_, Named::Calls(call_idxs)) => {
                let ids: HashSet<&String> = call_idxs.iter().filter_map(|at| ids.get(at)).collect();
                match of_calls(open, |cut| cut.call.as_ref().is_some_and(|call| ids.contains(call))) {
                    Recalled::Nothing => Recalled::NotCut,
                    cuts => cuts,
                }
            }
            (_, Named::Message(_) | Named::Messages(_)) => Recalled::NotCut,
            // The call is gone from the transcript: its cut still knows its id.
            (Target::Call(handle), Named::Nothing) => match gone(open, handle, &mut ours) {
                Fits::None => Recalled::Nothing,
                Fits::One(at) => of_one(open, at),
                Fits::Several(places) => {
                    let ids: HashSet<String> = places.iter().filter_map(|at| id_of(open, *at)).collect();
                    of_calls(open, |cut| cut.call.as_ref().is_some_and(|call| ids.contains(call)))
                }
            },
            (Target::Message(_), Named::Nothing) => Recalled::Nothing,
        };
        if let Some(slot) = recalled.get_mut(at) {
            *slot = answer;
        }
    }
    Ok(recalled)
}

/// The cuts of calls, by their places among these, that `handle` may stand for. A cut that is not known by a handle does
/// not tell its tool, so that its letter is taken for the right one.
fn gone(open: &[OpenCut], handle: &Handle, ours: &mut HashMap<String, Handles>) -> Fits {
    let letter: String = handle.to_string().chars().take(1).collect();
    let handles = ours.entry(letter.clone()).or_insert_with(|| {
        let tool = |cut: &OpenCut| if cut.name.parse::<Handle>().is_ok() { cut.name.clone() } else { letter.clone() };
        let calls: Vec<(String, &str)> =
            open.iter().filter_map(|cut| Some((tool(cut), cut.call.as_deref()?))).collect();
        Handles::of(calls.iter().map(|(tool, call)| (tool.as_str(), *call)))
    });
    handles.find(handle)
}

/// The cuts of calls that are wanted.
fn of_calls(open: &[OpenCut], is_wanted: impl Fn(&OpenCut) -> bool) -> Recalled {
    let places: Vec<usize> =
        (0..).zip(open).filter(|(_, cut)| cut.call.is_some() && is_wanted(cut)).map(|(at, _)| at).collect();
    let ids: HashSet<&Option<String>> = places.iter().filter_map(|at| open.get(*at)).map(|cut| &cut.call).collect();
    match ids.len() {
        0 => Recalled::Nothing,
        1 => Recalled::Cuts(places),
        _ => Recalled::Several(places),
    }
}

/// The cuts of the call whose cut is the one at `at` of those of calls.
fn of_one(open: &[OpenCut], at: usize) -> Recalled {
    let id = id_of(open, at);
    of_calls(open, |cut| cut.call == id)
}

/// The id of the call at `at` of the cuts of calls.
fn id_of(open: &[OpenCut], at: usize) -> Option<String> {
    open.iter().filter_map(|cut| cut.call.clone()).nth(at)
}

/// The ids of the calls that are named.
fn ids(transcript: Transcript<'_>, calls: &Calls, named: &[Named]) -> Result<HashMap<usize, String>, ApplyError> {
    let call_idxs = named.iter().flat_map(|named| match named {
        Named::Call(call_idx) => vec![*call_idx],
        Named::Calls(call_idxs) => call_idxs.clone(),
        Named::Nothing | Named::Message(_) | Named::Messages(_) => Vec::new(),
    });
    let places: Vec<_> = call_idxs.filter_map(|at| Some((at, calls.calls.get(at)?.call))).collect();
    let described = describe(transcript.file, transcript.index, places.iter().map(|(_, place)| *place));
    let mut described = described?;
    Ok(places.into_iter().filter_map(|(at, place)| Some((at, described.remove(&place)?.id.into()))).collect())
}

/// The cuts of messages that patterns fit, by what the archive has of them.
fn by_text(
    open: &[OpenCut],
    targets: &[&Target],
    roles: Roles,
    archive: &dyn Archive,
) -> Result<Vec<Recalled>, ApplyError> {
    let patterns = PatternTargets::of(targets);
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); targets.len()];
    if !patterns.is_empty() {
        for (at, cut) in open.iter().enumerate().filter(|(_, cut)| cut.call.is_none()) {
            let Some((bytes, scan)) = original(cut, archive)? else { continue };
            if !roles.are_of(scan.kind) {
                continue;
            }
            let page = Page { line: LineNo(0), bytes: &bytes, scan: &scan };
            let fitting: HashSet<usize> = texts(&page).iter().flat_map(|text| patterns.fits(text)).collect();
            for at_target in fitting {
                found.get_mut(at_target).into_iter().for_each(|places| places.push(at));
            }
        }
    }
    let recalled = found.into_iter().map(|places| match places.len() {
        0 => Recalled::Nothing,
        1 => Recalled::Cuts(places),
        _ => Recalled::Several(places),
    });
    Ok(recalled.collect())
}

/// The line that had the item, and its scan; `None` where the archive has lost it.
fn original(cut: &OpenCut, archive: &dyn Archive) -> Result<Option<(Vec<u8>, Scan)>, ApplyError> {
    let known = archive.originals_of(&cut.uuid)?;
    let mut taken = known.into_iter().filter(|it| it.replaced_by.is_some());
    let Some(taken) = taken.find(|it| it.operation.as_ref() == Some(&cut.first)) else { return Ok(None) };
    match archive.line(taken.digest) {
        Ok(line) => Ok(line.map(|line| (line.clone(), Scan::of(&line)))),
        Err(ArchiveError::Damaged { .. } | ArchiveError::DamagedOnServer { .. }) => Ok(None),
        Err(error) => Err(ApplyError::Archive(error)),
    }
}
