//! Truncating: the lines of the oldest messages go, and what hangs on them (D-01 to D-08). No model is asked.

use std::convert::Infallible;
use std::fs::File;
use std::io;

use super::Rewrite;
use super::close_loop::closing_entry;
use super::dependents::drop_dependents;
use super::follow_up::Thinking;
use super::pointers::point;
use super::thinking::{ThinkingPolicy, ThinkingReach, open_loop};
use crate::plan::{As, Kept, Message, Opening, TopDownTruncation, Truncation};
use crate::text::Tokens;
use crate::transcript::scan::Kind;
use crate::transcript::{Chain, Flags, Index, LineNo, Messages, Owner, Parent, Totals};

/// What was cut.
#[derive(Clone, Copy, Debug)]
pub struct Truncated {
    /// Where.
    pub truncation: Truncation,
    /// How many messages there were.
    pub n_before: u32,
    /// How many are left.
    pub n_after: u32,
    /// The entry that the rest starts with, an opener aside.
    pub start: Option<LineNo>,
    /// The prompt that stays before it.
    pub opener: Option<LineNo>,
    /// What the model sees of what is left, thinking that follow-up takes out included.
    pub left: Totals,
}

/// Adds to `rewrite` the lines that go so that the context comes below the target of `strategy`; what `rewrite` takes out
/// already is not counted. The result starts with a prompt where there is one.
///
/// # Errors
/// When the source cannot be read.
pub fn truncate(
    file: &File,
    index: &Index,
    chain: &Chain,
    strategy: &TopDownTruncation,
    thinking: Thinking,
    rewrite: &mut Rewrite,
) -> io::Result<Truncated> {
    let messages = Messages::of(index, chain, &rewrite.dropped);
    let (outlook, added) = Outlook::new(file, index, chain, thinking, rewrite)?;
    let strategy = TopDownTruncation { added: strategy.added + added, ..*strategy };
    let sizes = Sizes::new(index, chain, &messages, &outlook, rewrite);
    let opener_tokens = |at| messages.first_line(chain, at).map_or(Tokens::ZERO, |line| tokens(index, line, rewrite));
    let estimate = |at: usize, what| {
        Ok::<_, Infallible>(match what {
            As::Now => sizes.now.get(at).copied().unwrap_or_default(),
            As::Rest => sizes.rest.get(at).copied().unwrap_or_default(),
            As::Opener => opener_tokens(at),
        })
    };
    let Ok(truncation) = strategy.plan(&described(index, chain, &messages), estimate);
    let mut truncated = Truncated {
        truncation,
        n_before: messages.len(),
        n_after: messages.len(),
        start: None,
        opener: None,
        left: Totals::of(index, chain),
    };
    let Kept::Suffix { opener, start } = truncation.kept else { return Ok(truncated) };
    truncated.n_after = messages.len() - u32::try_from(start).unwrap_or(u32::MAX) + u32::from(opener.is_some());
    truncated.start = messages.first_line(chain, start);
    truncated.opener = opener.and_then(|opener| messages.first_line(chain, opener));
    if let (Some(first), Some(&place)) = (truncated.start, messages.firsts.get(start)) {
        let cut = Cut { messages: &messages, opener: truncated.opener, start, first, place };
        cut.drop_lines(index, chain, rewrite);
        cut.hang(index, chain, rewrite);
        mend_tips(file, index, chain, rewrite)?;
    }
    truncated.left = left(index, chain, rewrite);
    Ok(truncated)
}

/// The messages as the plan sees them.
fn described(index: &Index, chain: &Chain, messages: &Messages) -> Vec<Message> {
    let groups = messages.groups.iter().copied().enumerate();
    let mut described: Vec<Message> = groups
        .map(|(at, group)| {
            let line = messages.first_line(chain, at);
            Message { group, opening: line.map_or(Opening::Never, |line| opening(index, chain, line)) }
        })
        .collect();
    // What a client attached is sent as the user's: a conversation that starts with it does not start with a reply.
    let is_attached = |&&line: &&LineNo| index.record(line).kind == Kind::Attachment;
    let has_attached_head =
        chain.lines.iter().take_while(|line| messages.owner(**line) == Owner::None).any(|line| is_attached(&line));
    if let Some(first) = described.first_mut().filter(|first| has_attached_head && first.opening == Opening::Reply) {
        first.opening = Opening::Never;
    }
    described
}

/// What the message whose first line is `line` is as the first of a conversation.
fn opening(index: &Index, chain: &Chain, line: LineNo) -> Opening {
    let record = index.record(line);
    let is_main = chain.is_sidechain || !record.flags.any(Flags::SIDECHAIN);
    if record.kind == Kind::Assistant {
        Opening::Reply
    } else if record.flags.any(Flags::PROMPT) && is_main {
        Opening::Prompt
    } else if record.flags.any(Flags::COMPACT_SUMMARY) {
        Opening::Summary
    } else if record.flags.any(Flags::TOOL_RESULT.with(Flags::BLANK).with(Flags::BAD_CONTENT)) {
        Opening::Never
    } else {
        Opening::User
    }
}

/// Which thinking counts.
struct Outlook {
    /// All of it stays.
    keeps_all: bool,
    /// Before this place, it stays as long as nothing is cut.
    stable_until: usize,
    /// From this place on, it stays whatever is cut.
    kept_from: usize,
}

impl Outlook {
    /// What will become of thinking, and the tokens of what is added behind the last entry once something is cut.
    fn new(
        file: &File,
        index: &Index,
        chain: &Chain,
        thinking: Thinking,
        rewrite: &Rewrite,
    ) -> io::Result<(Self, Tokens)> {
        let first_change = chain.lines.iter().position(|&line| rewrite.is_seen(line));
        let mut outlook = Self {
            keeps_all: thinking.policy == ThinkingPolicy::Keep,
            stable_until: match thinking.reach {
                ThinkingReach::BehindChange => first_change.unwrap_or(usize::MAX),
                ThinkingReach::Everywhere => 0,
            },
            kept_from: open_loop(index, chain).unwrap_or(usize::MAX),
        };
        let is_thinking = |line: &LineNo| index.record(*line).flags.any(Flags::THINKING);
        let mut added = Totals::default();
        if thinking.policy == ThinkingPolicy::CloseLoop
            && chain.lines.iter().skip(outlook.kept_from).any(is_thinking)
            && let Some(entry) = closing_entry(file, index, chain)?
        {
            added.add(entry.as_bytes());
            outlook.kept_from = usize::MAX;
        }
        Ok((outlook, added.context()))
    }

    fn stays_in_rest(&self, place: usize) -> bool {
        self.keeps_all || place >= self.kept_from
    }

    fn is_there(&self, place: usize) -> bool {
        place < self.stable_until || self.stays_in_rest(place)
    }
}

/// The `chars4` tokens of each message with what stands behind it.
struct Sizes {
    now: Vec<Tokens>,
    rest: Vec<Tokens>,
}

impl Sizes {
    fn new(index: &Index, chain: &Chain, messages: &Messages, outlook: &Outlook, rewrite: &Rewrite) -> Self {
        let none = vec![Tokens::ZERO; messages.firsts.len()];
        let mut sizes = Self { now: none.clone(), rest: none };
        for (place, &line) in chain.lines.iter().enumerate().filter(|(_, line)| !rewrite.dropped.contains(**line)) {
            // What stands before the first message goes when anything goes.
            let at = match messages.owner(line) {
                Owner::Of(at) | Owner::Behind(at) => at as usize,
                Owner::None => 0,
            };
            let tokens = tokens(index, line, rewrite);
            let thinking = index.thinking_of(line).map_or(Tokens::ZERO, |thinking| Tokens(thinking.text.into()));
            let add = |sizes: &mut Vec<Tokens>, has_thinking: bool| {
                if let Some(size) = sizes.get_mut(at) {
                    *size += if has_thinking { tokens + thinking } else { tokens };
                }
            };
            add(&mut sizes.now, outlook.is_there(place));
            add(&mut sizes.rest, outlook.stays_in_rest(place));
        }
        sizes
    }
}

/// What the model sees of `line` as `rewrite` has it so far, thinking aside, in `chars4` tokens.
fn tokens(index: &Index, line: LineNo, rewrite: &Rewrite) -> Tokens {
    let saved = rewrite.saved.get(&line).copied().unwrap_or(0);
    Tokens(u64::from(index.record(line).tokens).saturating_add_signed(-saved))
}

/// Where the messages are cut.
struct Cut<'a> {
    messages: &'a Messages,
    /// The prompt that stays.
    opener: Option<LineNo>,
    /// The first message of the rest, and its first line with its place in the chain.
    start: usize,
    first: LineNo,
    place: u32,
}

impl Cut<'_> {
    /// Drops what stands before the rest, and what hangs on it.
    fn drop_lines(&self, index: &Index, chain: &Chain, rewrite: &mut Rewrite) {
        let mut saved = Saved::new(index, chain);
        let mut first_line = None;
        for (place, &line) in (0u32..).zip(&chain.lines) {
            if rewrite.dropped.contains(line) || self.keeps(index, place, line) {
                continue;
            }
            let thinking = index.thinking_of(line).map_or(0, |thinking| thinking.text);
            let seen = u64::from(index.record(line).tokens) + u64::from(thinking);
            let known = rewrite.saved.get(&line).copied().unwrap_or(0);
            saved.add(place, line, seen.cast_signed() - known);
            rewrite.drop_line(line);
            first_line = Some(first_line.map_or(line, |first: LineNo| first.min(line)));
        }
        for (line, tokens) in saved.sums.into_iter().flatten() {
            rewrite.save(line, tokens);
        }
        drop_dependents(index, chain, &(first_line.unwrap_or(self.first)..self.first), rewrite);
    }

    fn keeps(&self, index: &Index, place: u32, line: LineNo) -> bool {
        let is_boundary = place == 0 && index.record(line).flags.any(Flags::COMPACT_BOUNDARY);
        is_boundary
            || self.opener == Some(line)
            || match self.messages.owner(line) {
                Owner::Of(message) => message as usize >= self.start,
                Owner::Behind(_) | Owner::None => place >= self.place,
            }
    }

    /// Hangs what is left of the conversation on its new head. Its links alone would lead there but where the client
    /// found the chain by other means: past a segment that a boundary keeps, or out of a circle.
    fn hang(&self, index: &Index, chain: &Chain, rewrite: &mut Rewrite) {
        let boundary = chain.lines.first().copied();
        let boundary = boundary.filter(|&line| index.record(line).flags.any(Flags::COMPACT_BOUNDARY));
        let head = self.opener.unwrap_or(self.first);
        // What stands before its boundary is part of a segment, which has its place by what the boundary says.
        let is_in_segment = boundary.is_some_and(|boundary| head < boundary);
        if !is_in_segment {
            hang_on(index, head, boundary, rewrite);
        }
        if let Some(opener) = self.opener {
            hang_on(index, self.first, Some(opener), rewrite);
        }
    }
}

/// Hangs `line` on `parent`, unless it hangs there already, or on something that the file does not have.
fn hang_on(index: &Index, line: LineNo, parent: Option<LineNo>, rewrite: &mut Rewrite) {
    if let Parent::At(old) = index.record(line).parent()
        && Some(old) != parent
    {
        rewrite.parents.insert(line, parent);
    }
}

/// What is saved, in two sums: what the last measurement of the client knew, and what came after it.
struct Saved {
    measured_until: Option<u32>,
    sums: [Option<(LineNo, i64)>; 2],
}

impl Saved {
    fn new(index: &Index, chain: &Chain) -> Self {
        let is_measured = |line: &LineNo| index.record(*line).flags.any(Flags::USAGE);
        let measured_until = chain.lines.iter().rposition(is_measured).and_then(|place| u32::try_from(place).ok());
        Self { measured_until, sums: [None; 2] }
    }

    fn add(&mut self, place: u32, line: LineNo, tokens: i64) {
        let [measured, later] = &mut self.sums;
        let sum = if Some(place) <= self.measured_until { measured } else { later };
        sum.get_or_insert((line, 0)).1 += tokens;
    }
}

/// Lets the last prompt that a resume goes by, and the last title of what went, name the tip of the conversation.
fn mend_tips(file: &File, index: &Index, chain: &Chain, rewrite: &mut Rewrite) -> io::Result<()> {
    let targets = index.lines_of(index.pointers.iter().map(|pointer| pointer.target));
    let Some(tip) = tip(index, chain, rewrite) else { return Ok(()) };
    for kind in [Kind::LastPrompt, Kind::Summary] {
        let pointers = index.pointers.iter().filter(|pointer| index.record(pointer.line).kind == kind);
        let mut known = pointers.filter_map(|pointer| Some((pointer.line, *targets.get(&pointer.target)?)));
        // A title may be that of another conversation of the file; a last prompt is gone by wherever it leads.
        let last = known.rfind(|(_, target)| kind == Kind::LastPrompt || chain.is_live(*target));
        if let Some((line, _)) =
            last.filter(|(line, target)| rewrite.dropped.contains(*target) && !rewrite.dropped.contains(*line))
        {
            point(file, index, line, tip, rewrite)?;
        }
    }
    Ok(())
}

/// The last message of the conversation that stays even where thinking goes.
fn tip(index: &Index, chain: &Chain, rewrite: &Rewrite) -> Option<LineNo> {
    let mut at = chain.leaf?;
    for _ in 0..chain.lines.len() {
        let record = index.record(at);
        if record.is_message() && (record.kind == Kind::User || record.flags.any(Flags::BEYOND_THINKING)) {
            return Some(at).filter(|&at| !rewrite.dropped.contains(at));
        }
        let Parent::At(parent) = record.parent() else { return None };
        at = parent;
    }
    None
}

/// What the model sees of what is left.
fn left(index: &Index, chain: &Chain, rewrite: &Rewrite) -> Totals {
    let mut left = Totals::default();
    for &line in chain.lines.iter().filter(|&&line| !rewrite.dropped.contains(line)) {
        left.messages += tokens(index, line, rewrite);
        if let Some(thinking) = index.thinking_of(line) {
            left.thinking += Tokens(thinking.text.into());
            left.signatures += Tokens(thinking.signature.into());
        }
    }
    left
}

#[cfg(test)]
mod tests;
