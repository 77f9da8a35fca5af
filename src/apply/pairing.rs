//! Tool calls and their results: every live call has one live result, in the user message that follows its own.

use super::check::is_dropped;
use super::problem::{Detail, Problem, ProblemKind};
use crate::transcript::{Chain, IdHash, Index, LineNo, MessageIdx};

/// One end of a live call, by its place in the conversation.
struct End {
    id: IdHash,
    place: u32,
    is_result: bool,
}

/// Finds what is wrong with the tool calls and results of the live chain.
///
/// The client merges the entries of one message, and the user entries up to the next message. So a result is in its
/// place when the last assistant message before it is that of its call, wherever the message's other lines stand.
pub(super) fn check_pairs(index: &Index, chain: &Chain, problems: &mut Vec<Problem>) {
    let conversation = Conversation::new(index, chain);
    let mut ends = conversation.ends(index);
    ends.sort_unstable_by_key(|end| (end.id, end.is_result, end.place));
    for same in ends.chunk_by(|a, b| a.id == b.id) {
        let (calls, results) = same.split_at(same.partition_point(|end| !end.is_result));
        let id = same.first().map_or(IdHash::NONE, |end| end.id);
        let mut report = |end: &End, kind, detail| {
            problems.push(Problem::new(kind, conversation.line(end.place), id).with(detail));
        };
        let Some(call) = calls.first().filter(|_| id != IdHash::NONE) else {
            let kind = if id == IdHash::NONE { ProblemKind::ToolWithoutId } else { ProblemKind::ResultWithoutCall };
            for end in same {
                report(end, kind, Detail::None);
            }
            continue;
        };
        let call_at = Detail::Line(conversation.line(call.place));
        for end in calls.iter().skip(1) {
            report(end, ProblemKind::DuplicateCall, call_at);
        }
        let Some(result) = results.first() else {
            let is_last = conversation.message_at(call.place) == conversation.last_message();
            let kind = if is_last { ProblemKind::InterruptedCall } else { ProblemKind::CallWithoutResult };
            report(call, kind, Detail::None);
            continue;
        };
        let result_at = Detail::Line(conversation.line(result.place));
        for end in results.iter().skip(1) {
            report(end, ProblemKind::DuplicateResult, result_at);
        }
        if conversation.message_at(result.place) != conversation.message_at(call.place) || result.place < call.place {
            report(result, ProblemKind::MisplacedResult, call_at);
        }
    }
}

/// The live lines in order, each with the assistant message that was the last up to there.
struct Conversation<'a> {
    lines: &'a [LineNo],
    /// By place; `u32::MAX` before the first message.
    messages: Vec<u32>,
    /// The places by line; `u32::MAX` for what is not live.
    places: Vec<u32>,
}

impl<'a> Conversation<'a> {
    fn new(index: &Index, chain: &'a Chain) -> Self {
        let mut messages = Vec::with_capacity(chain.lines.len());
        let mut places = vec![u32::MAX; index.records.len()];
        let mut last = u32::MAX;
        for (place, &line) in (0..).zip(&chain.lines) {
            if !is_dropped(index, line) {
                last = index.record(line).message().map_or(last, |MessageIdx(message)| message);
                if let Some(slot) = places.get_mut(line.idx()) {
                    *slot = place;
                }
            }
            messages.push(last);
        }
        Self { lines: &chain.lines, messages, places }
    }

    fn ends(&self, index: &Index) -> Vec<End> {
        let place_of = |line: LineNo| self.places.get(line.idx()).copied().filter(|&place| place != u32::MAX);
        let live = index.tools.iter().filter_map(|end| Some((end, place_of(end.line)?)));
        live.map(|(end, place)| End { id: end.id, place, is_result: end.is_result }).collect()
    }

    fn line(&self, place: u32) -> LineNo {
        self.lines.get(place as usize).copied().unwrap_or_default()
    }

    fn message_at(&self, place: u32) -> Option<u32> {
        self.messages.get(place as usize).copied()
    }

    fn last_message(&self) -> Option<u32> {
        self.messages.last().copied()
    }
}
