//! The live chain and its turns, by the words of the format: leaf, walk, boundary, siblings.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::transcript::{Line, Transcript};

/// The live chain of a transcript.
pub(crate) struct Live {
    /// The lines, from 0, in the order of the conversation.
    pub(crate) order: Vec<usize>,
    pub(crate) is_sidechain: bool,
    /// Whether the walk ended at a parent that is not there, or in a circle.
    pub(crate) is_cut_off: bool,
}

impl Live {
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let lines = &transcript.lines;
        let mut by_uuid = transcript.by_uuid();
        let n_skipped = n_skipped(transcript, &by_uuid);
        by_uuid.retain(|_, at| *at >= n_skipped);
        let by_uuid = by_uuid;
        let wins = |at: &usize| lines[*at].uuid().and_then(|uuid| by_uuid.get(uuid)) == Some(at);
        let messages: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].is_message() && wins(at)).collect();
        let is_sidechain = !messages.is_empty() && messages.iter().all(|at| lines[*at].is("isSidechain"));
        let is_main = |at: &usize| is_sidechain || !lines[*at].is("isSidechain");
        let mut parents = parents(lines, &by_uuid);
        heal(transcript, n_skipped, &by_uuid, &mut parents);
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        for (child, parent) in &parents {
            children.entry(*parent).or_default().push(*child);
        }

        let is_leaf = |at: &usize| is_main(at) && lines[*at].value["teamName"].is_null();
        let mut noted = lines.iter().rev().filter(|line| line.kind() == "last-prompt");
        let noted = noted.find_map(|line| by_uuid.get(line.value["leafUuid"].as_str()?)).copied();
        let below = |root: usize| {
            let mut found = HashSet::from([root]);
            let mut left = vec![root];
            while let Some(at) = left.pop() {
                left.extend(children.get(&at).into_iter().flatten().filter(|child| found.insert(**child)));
            }
            found
        };
        let leaf = match noted {
            None => messages.iter().rev().copied().find(is_leaf),
            Some(noted) => {
                let below = below(noted);
                let newest = messages.iter().rev().copied().find(|at| is_leaf(at) && below.contains(at));
                newest.or_else(|| walk(&parents, noted).into_iter().find(|at| lines[*at].is_message()))
            }
        };
        let Some(leaf) = leaf else { return Self { order: Vec::new(), is_sidechain, is_cut_off: false } };
        let below = below(leaf);
        let tip =
            (0..lines.len()).rev().find(|at| lines[*at].is_chained() && wins(at) && is_main(at) && below.contains(at));
        let mut path = walk(&parents, tip.unwrap_or(leaf));
        let root = &lines[path[path.len() - 1]];
        let is_cut_off = root.value["parentUuid"].is_string() && !root.is_compact_boundary();
        path.retain(|at| lines[*at].kind() != "progress");
        path.reverse();
        Self { order: with_siblings(lines, &messages, &parents, &path), is_sidechain, is_cut_off }
    }
}

/// How many lines a client does not look at (C-09): those before the last boundary that says that it keeps nothing, or, where
/// there are more than 5 MiB, that says nothing of what it keeps. Of lines with one uuid the later counts, in the place of the
/// first.
fn n_skipped(transcript: &Transcript, by_uuid: &HashMap<&str, usize>) -> usize {
    let lines = &transcript.lines;
    let n_bytes: usize = lines.iter().map(|line| line.raw.len()).sum();
    let mut first = 0;
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.is_compact_boundary()) {
        let metadata = &line.value["compactMetadata"];
        let is_plain = metadata["preservedSegment"].is_null() && metadata["preservedMessages"].is_null();
        if is_plain && n_bytes > 5 * 1024 * 1024 {
            first = first.max(at);
        }
        let winner = line.uuid().and_then(|uuid| by_uuid.get(uuid)).map_or(line, |at| &lines[*at]);
        let metadata = &winner.value["compactMetadata"];
        let is_empty = metadata["preservedMessages"]["uuids"].as_array().is_some_and(Vec::is_empty);
        let is_first = lines[..at].iter().all(|other| !other.is_compact_boundary() || other.uuid() != line.uuid());
        if is_empty && metadata["preservedSegment"].is_null() && is_first {
            first = first.max(at);
        }
    }
    first
}

/// What names an entry that a client does not look at hangs on the entry before it, and at last on the boundary.
fn heal(
    transcript: &Transcript,
    n_skipped: usize,
    by_uuid: &HashMap<&str, usize>,
    parents: &mut HashMap<usize, usize>,
) {
    let lines = &transcript.lines;
    let all = transcript.by_uuid();
    let boundary = lines.get(n_skipped).and_then(|line| by_uuid.get(line.uuid()?)).copied();
    let mut last: [Option<usize>; 2] = [None; 2];
    for (at, line) in lines.iter().enumerate().skip(n_skipped).filter(|_| n_skipped > 0) {
        let counts = line.is_chained() && line.uuid().and_then(|uuid| by_uuid.get(uuid)) == Some(&at);
        if !counts || Some(at) == boundary {
            continue;
        }
        let last = &mut last[usize::from(line.is("isSidechain"))];
        let is_skipped = |uuid: &str| all.get(uuid).is_some_and(|at| *at < n_skipped);
        if line.value["parentUuid"].as_str().is_some_and(is_skipped)
            && !line.is_compact_boundary()
            && let (false, Some(parent)) = (parents.contains_key(&at), last.or(boundary))
        {
            parents.insert(at, parent);
        }
        if line.kind() != "progress" {
            *last = Some(at);
        }
    }
}

fn parents(lines: &[Line], by_uuid: &HashMap<&str, usize>) -> HashMap<usize, usize> {
    let at = |value: &Value| by_uuid.get(value.as_str()?).copied();
    let winners = by_uuid.values().copied().filter(|at| !lines[*at].is_compact_boundary());
    let mut parents: HashMap<usize, usize> =
        winners.filter_map(|child| Some((child, at(&lines[child].value["parentUuid"])?))).collect();
    let raw = parents.clone();
    let wins = |at: usize| lines[at].uuid().and_then(|uuid| by_uuid.get(uuid)) == Some(&at);
    for (_, boundary) in lines.iter().enumerate().filter(|(at, line)| line.is_compact_boundary() && wins(*at)) {
        let metadata = &boundary.value["compactMetadata"];
        let segment = [&metadata["preservedSegment"], &metadata["preservedMessages"]];
        let find = |name: &str| segment.iter().find_map(|part| at(&part[name]));
        let uuids = segment.iter().filter_map(|part| part["uuids"].as_array()).flatten();
        let kept: Vec<usize> = uuids.filter_map(at).collect();
        let head = kept.first().copied().or_else(|| find("headUuid"));
        let tail = kept.last().copied().or_else(|| find("tailUuid"));
        let (Some(anchor), Some(head), Some(tail)) = (find("anchorUuid"), head, tail) else { continue };
        for (child, parent) in &raw {
            if *parent == anchor && *child != head && *child != tail && !kept.contains(child) {
                parents.insert(*child, tail);
            }
        }
        parents.insert(head, anchor);
        parents.extend(kept.iter().skip(1).copied().zip(kept.iter().copied()));
    }
    parents
}

/// From `tip` up to the root.
fn walk(parents: &HashMap<usize, usize>, tip: usize) -> Vec<usize> {
    let (mut path, mut seen) = (vec![tip], HashSet::from([tip]));
    while let Some(parent) = parents.get(&path[path.len() - 1]).filter(|parent| seen.insert(**parent)) {
        path.push(*parent);
    }
    path
}

/// With the other lines of each message and the results that hang on them, behind its last line on the path.
fn with_siblings(lines: &[Line], messages: &[usize], parents: &HashMap<usize, usize>, path: &[usize]) -> Vec<usize> {
    let last: HashMap<&str, usize> = path.iter().filter_map(|at| Some((lines[*at].message_id()?, *at))).collect();
    let on_path: HashSet<usize> = path.iter().copied().collect();
    let mut beside: BTreeMap<(usize, bool), Vec<usize>> = BTreeMap::new();
    for &at in messages.iter().filter(|at| !on_path.contains(at)) {
        let line = &lines[at];
        if let Some(behind) = line.message_id().and_then(|id| last.get(id)) {
            beside.entry((*behind, false)).or_default().push(at);
        } else if line.has_block("tool_result") {
            // Progress is passed over, and segments that a boundary keeps hang where it says.
            let parent = walk(parents, at).into_iter().skip(1).find(|at| lines[*at].kind() != "progress");
            let behind = parent.and_then(|parent| {
                let call = &lines[parent];
                if on_path.contains(&parent) && call.message_id().is_none() && call.kind() == "assistant" {
                    return Some(parent);
                }
                last.get(call.message_id()?).copied()
            });
            if let Some(behind) = behind {
                beside.entry((behind, true)).or_default().push(at);
            }
        }
    }
    let behind = |at: usize, is_result| beside.get(&(at, is_result)).into_iter().flatten().copied();
    path.iter().flat_map(|&at| [at].into_iter().chain(behind(at, false)).chain(behind(at, true))).collect()
}

/// The turns, as ranges of places in the chain; what the model said before the first prompt is one (K-02).
pub(crate) fn turns(transcript: &Transcript, chain: &Live) -> Vec<Range<usize>> {
    let is_start = |at: usize| {
        let line = &transcript.lines[at];
        is_prompt(line) && (chain.is_sidechain || !line.is("isSidechain"))
    };
    let mut starts: Vec<usize> = (0..chain.order.len()).filter(|place| is_start(chain.order[*place])).collect();
    // K-02
    let line = |place: usize| &transcript.lines[chain.order[place]];
    let n_before = starts.first().copied().unwrap_or(chain.order.len());
    let is_answer = |line: &Line| line.kind() == "assistant" && !line.is("isMeta") && !line.is("isApiErrorMessage");
    if (0..n_before).any(|place| is_answer(line(place))) {
        starts.extend((0..n_before).find(|place| line(*place).is_message()));
        starts.sort_unstable();
    }
    let ends = starts.iter().skip(1).copied().chain([chain.order.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Whether a person typed it, commands included (T-05).
pub(crate) fn is_prompt(line: &Line) -> bool {
    const WRITTEN_BY_THE_CLIENT: [&str; 9] = [
        "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>", "<bash-stderr>",
        "<task-notification>", "<system-reminder>", "[Request interrupted by user", "<tick>",
    ];
    let is_out = line.kind() != "user"
        || line.is("isMeta")
        || line.is("isCompactSummary")
        || line.value.get("toolUseResult").is_some()
        || line.has_block("tool_result")
        || line.value["origin"]["kind"] == "task-notification";
    let is_typed = |text: &str| {
        !text.trim().is_empty() && !WRITTEN_BY_THE_CLIENT.iter().any(|mark| text.trim_start().starts_with(mark))
    };
    let content = &line.value["message"]["content"];
    !is_out
        && content.as_str().map_or_else(
            || {
                line.blocks()
                    .iter()
                    .any(|block| block["type"] == "text" && block["text"].as_str().is_some_and(is_typed))
            },
            is_typed,
        )
}

/// Whether it is the envelope of a command.
pub(crate) fn is_command(line: &Line) -> bool {
    let marks = ["<command-name>", "<command-message>", "<command-args>", "<bash-input>", "<user-memory-input>"];
    marks.iter().any(|mark| line.text().trim_start().starts_with(mark))
}
