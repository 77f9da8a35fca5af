//! Truncating: the oldest messages go until the rest is below a target (D-01 to D-06, D-09).
//!
//! In go messages, each with its group and with what it could be as the first of a conversation, and an estimator; out
//! comes where the rest starts. What a message holds is not known here, and no model is asked.

use ctxc_transcript::text::Tokens;
use ctxc_transcript::{Calibration, GroupIdx};

/// Whether a message can be the first of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A prompt that a person typed for the model; a command that the client carries out by itself is none.
    Prompt,
    /// The summary that a client put in the place of what it compacted.
    Summary,
    /// Another user message without tool results.
    User,
    /// An assistant message: it may only be first where one was first before.
    Reply,
    /// Nothing that a conversation can start with, such as the result of a tool.
    Never,
}

/// One message: an assistant message, or one user entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The unit that is kept or removed as a whole: a message and all its tool results.
    pub group: GroupIdx,
    /// Its suitability as the first message of a conversation.
    pub opening: Opening,
}

/// The estimate that applies to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// As it is.
    Now,
    /// As a part of the rest, once something before it is gone.
    Rest,
    /// As the first message, before a rest that does not follow it.
    Opener,
}

/// One part in so many of the target may be left unused for the sake of starting with a prompt (D-10).
const WASTED: u64 = 5;

/// The strategy: drop the oldest first.
#[derive(Clone, Copy, Debug)]
pub struct TopDownTruncation {
    /// What the context shall be below.
    pub target: Tokens,
    /// How `chars4` tokens are held against it.
    pub calibration: Calibration,
    /// `chars4` tokens that are added to the rest once something is cut.
    pub added: Tokens,
}

/// The messages that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Everything.
    All(Unchanged),
    /// The messages from `start` on, and before them the `opener` where they do not start with a prompt, because none
    /// follows or moving on to it would waste too much.
    Suffix {
        /// The prompt that opened the turn which was cut.
        opener: Option<usize>,
        /// The first message of the rest.
        start: usize,
    },
}

/// Why everything stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchanged {
    /// The session has no message.
    Empty,
    /// The context is below the target.
    AlreadyUnderTarget,
    /// With anything less, fewer than two messages would be left.
    BelowMinimum,
    /// There is no message that the rest could start with.
    NoPrompt,
}

impl Unchanged {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::AlreadyUnderTarget => "already-under-target",
            Self::BelowMinimum => "below-minimum",
            Self::NoPrompt => "no-prompt",
        }
    }
}

/// Where to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// The messages that are kept.
    pub kept: Kept,
    /// Its `chars4` tokens, without what is added to it.
    pub tokens: Tokens,
    /// The size of the context with it.
    pub size: Tokens,
}

impl TopDownTruncation {
    /// How many messages stay at least.
    pub const MIN_MESSAGES: usize = 2;

    /// A strategy that adds nothing to the rest.
    #[must_use]
    pub const fn new(target: Tokens, calibration: Calibration) -> Self {
        Self { target, calibration, added: Tokens::ZERO }
    }

    /// The name of the strategy.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        "top-down-truncation"
    }

    /// Whether a model is asked.
    #[must_use]
    pub const fn requires_model(&self) -> bool {
        false
    }

    /// Whether a context of `size` is over the target.
    #[must_use]
    pub fn is_over(&self, size: Tokens) -> bool {
        size >= self.target
    }

    /// Whether a context of `size` leaves so much of the target unused that a turn is rather cut inside (D-10).
    fn wastes(&self, size: Tokens) -> bool {
        size.0 < self.target.0 - self.target.0 / WASTED
    }

    /// Whether a context of `size` is over the target, and what stands before the first message alone is too: no cut
    /// comes below it (D-10).
    #[must_use]
    pub fn is_out_of_reach(&self, size: Tokens) -> bool {
        self.is_over(size) && self.is_over(self.calibration.overhead)
    }

    /// Where to cut `messages`, whose `chars4` tokens `estimate` gives by their place.
    ///
    /// # Errors
    /// Those of `estimate`.
    pub fn plan<E>(
        &self,
        messages: &[Message],
        mut estimate: impl FnMut(usize, As) -> Result<Tokens, E>,
    ) -> Result<Truncation, E> {
        let mut now = Tokens::ZERO;
        for at in 0..messages.len() {
            now += estimate(at, As::Now)?;
        }
        let size = self.calibration.context(now);
        let all = |why| Truncation { kept: Kept::All(why), tokens: now, size };
        if messages.is_empty() {
            return Ok(all(Unchanged::Empty));
        }
        if !self.is_over(size) {
            return Ok(all(Unchanged::AlreadyUnderTarget));
        }
        let rest = Rest::new(messages, |at| estimate(at, As::Rest))?;
        let Some(cut) = self.pure_cut(&rest).filter(|&cut| cut > 0) else { return Ok(all(Unchanged::BelowMinimum)) };
        for opening in [Opening::Prompt, Opening::Summary, Opening::User] {
            let next = rest.next(cut, opening);
            let moved_on = next.map(|start| self.suffix(&rest, None, start, Tokens::ZERO));
            if let Some(moved_on) = moved_on.filter(|moved_on| !self.wastes(moved_on.size)) {
                return Ok(moved_on);
            }
            let Some(opener) = rest.opener(cut, opening) else {
                if let Some(moved_on) = moved_on {
                    return Ok(moved_on);
                }
                continue;
            };
            let tokens = estimate(opener, As::Opener)?;
            let start = self.start_behind(&rest, cut, opener, tokens);
            let inside = start.map(|start| self.suffix(&rest, Some(opener), start, tokens));
            // Only what is left of the turn itself is worth its prompt.
            let is_better = next.is_none() || start < next && inside.is_some_and(|it| !self.is_over(it.size));
            let kept = if is_better { inside } else { moved_on };
            return Ok(kept.unwrap_or_else(|| all(Unchanged::BelowMinimum)));
        }
        // No message of the user is there to start with, so the rest can only start as the source does.
        if messages.first().is_some_and(|first| first.opening == Opening::Reply) {
            let start = rest.next(cut, Opening::Reply).unwrap_or(cut);
            return Ok(self.suffix(&rest, None, start, Tokens::ZERO));
        }
        Ok(all(Unchanged::NoPrompt))
    }

    /// The first message of the longest rest below the target that parts no group (D-02, D-03); where that would be fewer
    /// than the minimum, of the last ones with what belongs to them (D-05). `None` where even they are fewer.
    fn pure_cut(&self, rest: &Rest<'_>) -> Option<usize> {
        let first = rest.sums.partition_point(|sum| self.is_over(self.size(*sum))).max(1);
        let n_messages = rest.messages.len();
        let least = n_messages.checked_sub(Self::MIN_MESSAGES)?;
        let borders = &rest.borders;
        let forward = borders.iter().copied().find(|&border| border >= first).filter(|&border| border <= least);
        forward.or_else(|| borders.iter().copied().rev().find(|&border| border <= least))
    }

    /// The first message of the longest rest below the target behind `opener`; where none is, of the shortest. `None`
    /// where nothing would go.
    fn start_behind(&self, rest: &Rest<'_>, cut: usize, opener: usize, tokens: Tokens) -> Option<usize> {
        let goes = |border: usize| opener > 0 || border > opener + 1;
        let mut starts = rest.borders.iter().copied().filter(|&border| border >= cut && goes(border));
        let fits = |border: &usize| !self.is_over(self.size(rest.sum(*border) + tokens));
        let last = starts.clone().next_back();
        starts.find(fits).or(last)
    }

    fn suffix(&self, rest: &Rest<'_>, opener: Option<usize>, start: usize, opener_tokens: Tokens) -> Truncation {
        let tokens = rest.sum(start) + opener_tokens;
        Truncation { kept: Kept::Suffix { opener, start }, tokens, size: self.size(tokens) }
    }

    /// The size of a context with a rest of `tokens`.
    fn size(&self, tokens: Tokens) -> Tokens {
        self.calibration.context(tokens + self.added)
    }
}

/// The messages as what may be left of them.
struct Rest<'a> {
    messages: &'a [Message],
    /// The tokens from each message on, and 0 behind the last.
    sums: Vec<Tokens>,
    /// The messages at which no group is parted, in order; the first is 0.
    borders: Vec<usize>,
}

impl<'a> Rest<'a> {
    fn new<E>(messages: &'a [Message], mut estimate: impl FnMut(usize) -> Result<Tokens, E>) -> Result<Self, E> {
        let mut sums = vec![Tokens::ZERO; messages.len() + 1];
        let mut sum = Tokens::ZERO;
        for (at, slot) in sums.iter_mut().enumerate().rev().skip(1) {
            sum += estimate(at)?;
            *slot = sum;
        }
        Ok(Self { messages, sums, borders: borders(messages) })
    }

    fn sum(&self, start: usize) -> Tokens {
        self.sums.get(start).copied().unwrap_or_default()
    }

    /// The first message from `cut` on that opens as `opening`, parts no group, and has enough behind it.
    fn next(&self, cut: usize, opening: Opening) -> Option<usize> {
        let starts = self.borders.iter().copied().filter(|&border| border >= cut);
        let mut starts = starts.filter(|border| border + TopDownTruncation::MIN_MESSAGES <= self.messages.len());
        starts.find(|&start| self.opens(start, opening))
    }

    /// The last message before `cut` that opens as `opening`; a turn without a prompt is opened by the summary before it.
    fn opener(&self, cut: usize, opening: Opening) -> Option<usize> {
        let last = |opening| (0..cut).rev().find(|&at| self.opens(at, opening));
        let is_prompt = opening == Opening::Prompt;
        last(opening).or_else(|| last(Opening::Summary).filter(|_| is_prompt && self.next(cut, opening).is_some()))
    }

    fn opens(&self, at: usize, opening: Opening) -> bool {
        self.messages.get(at).is_some_and(|message| message.opening == opening)
    }
}

/// The messages at which no group is parted.
fn borders(messages: &[Message]) -> Vec<usize> {
    let n_groups = messages.iter().map(|message| message.group.0 as usize + 1).max().unwrap_or(0);
    let mut ends = vec![0; n_groups];
    for (at, message) in messages.iter().enumerate() {
        if let Some(end) = ends.get_mut(message.group.0 as usize) {
            *end = at;
        }
    }
    let mut borders = Vec::new();
    let mut held_until = None;
    for (at, message) in messages.iter().enumerate() {
        if held_until < Some(at) {
            borders.push(at);
        }
        held_until = held_until.max(ends.get(message.group.0 as usize).copied());
    }
    borders
}

#[cfg(test)]
mod tests;
