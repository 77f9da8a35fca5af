//! How many tokens of the API one `chars4` token is in this transcript.

use super::{Chain, ChainEnd, Index};
use crate::text::Tokens;

/// The factor where a file has no usage to learn from (requirements, "Words").
const DEFAULT_FACTOR: f64 = 1.5;
/// The bounds of the factor (ibid.).
const FACTORS: (f64, f64) = (0.5, 3.0);

/// What system prompt and tools take up at most, where the head of a conversation is missing and what was measured
/// before the first message may be that head: the largest of the real sessions that were looked at had 53,000.
const OVERHEAD_LIMIT: Tokens = Tokens(60_000);

/// The usual context window of the client's models, and the large one that some of them offer, in tokens
/// (platform.claude.com/docs/en/build-with-claude/context-windows).
const WINDOW: Tokens = Tokens(200_000);
const LARGE_WINDOW: Tokens = Tokens(1_000_000);

/// What turns a `chars4` estimate into one that can be held against a context window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Tokens of the API for one `chars4` token: the median over the steps of this file.
    pub factor: f64,
    /// Tokens before the first message: the system prompt and the tools.
    pub overhead: Tokens,
    /// From how many steps the factor was learnt; none for the default.
    pub n_steps: usize,
    /// Whether the recorded usage tells of a head of the conversation that the file no longer has.
    pub lost_head: bool,
    /// The largest context that the client recorded on this chain; 0 where it recorded none.
    pub highest: Tokens,
}

impl Calibration {
    /// Plain `chars4`, nothing learnt.
    pub const CHARS4: Self =
        Self { factor: 1.0, overhead: Tokens::ZERO, n_steps: 0, lost_head: false, highest: Tokens::ZERO };

    /// Learns from the usage that the client recorded along `chain`.
    #[must_use]
    pub fn learn(index: &Index, chain: &Chain) -> Self {
        let mut ratios: Vec<f64> = Vec::new();
        let mut first: Option<(u64, u64)> = None;
        let mut last: Option<(u64, u64)> = None;
        let mut highest = 0;
        let mut newest_message = None;
        let mut seen = 0;
        for &line in &chain.lines {
            if let Some(message) = index.record(line).message().filter(|message| Some(*message) > newest_message) {
                newest_message = Some(message);
                if let Some(prompt) = index.prompt_of(message) {
                    if let Some((prompt_before, seen_before)) = last
                        && prompt.0 > prompt_before
                        && seen > seen_before
                    {
                        ratios.push(ratio(prompt.0 - prompt_before, seen - seen_before));
                    }
                    first = first.or(Some((prompt.0, seen)));
                    last = Some((prompt.0, seen));
                    highest = highest.max(prompt.0);
                }
            }
            seen += context_tokens(index, line).0;
        }
        let n_steps = ratios.len();
        let learnt = median(ratios).map_or(DEFAULT_FACTOR, |median| median.clamp(FACTORS.0, FACTORS.1));
        let mut calibration = Self { factor: learnt, n_steps, highest: Tokens(highest), ..Self::CHARS4 };
        let (Some(first), Some(last)) = (first, last) else { return calibration };
        if last.0 < highest {
            // Texts were shortened after they had been measured, so that steps tell nothing; the last figure does.
            if last.0 > first.0 && last.1 > first.1 {
                calibration.factor = ratio(last.0 - first.0, last.1 - first.1).clamp(FACTORS.0, FACTORS.1);
            }
            calibration.overhead = Tokens(last.0).saturating_sub(calibration.scale(Tokens(last.1)));
        } else {
            calibration.overhead = Tokens(first.0).saturating_sub(calibration.scale(Tokens(first.1)));
        }
        let is_cut_off = matches!(chain.end, ChainEnd::MissingParent(_) | ChainEnd::Cycle(_));
        if is_cut_off && calibration.overhead > OVERHEAD_LIMIT {
            calibration.overhead = OVERHEAD_LIMIT;
            calibration.lost_head = true;
        }
        calibration
    }

    /// The context window of the model: that of 200,000 tokens, unless more of it was in use than fits there.
    #[must_use]
    pub fn window(&self) -> Tokens {
        if self.highest > WINDOW { LARGE_WINDOW } else { WINDOW }
    }

    /// `tokens` of `chars4` as tokens of the API, without the overhead.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate: token counts are far below 2^52, and the factor is positive"
    )]
    pub fn scale(&self, tokens: Tokens) -> Tokens {
        Tokens((tokens.0 as f64 * self.factor).round() as u64)
    }

    /// As [`Self::scale`], of what may have been given back rather than saved.
    #[must_use]
    pub fn scale_signed(&self, tokens: i64) -> i64 {
        self.scale(Tokens(tokens.unsigned_abs())).0.cast_signed() * tokens.signum()
    }

    /// The size of a context that holds `tokens` of `chars4`.
    #[must_use]
    pub fn context(&self, tokens: Tokens) -> Tokens {
        self.scale(tokens) + self.overhead
    }
}

/// What a line adds to the context: all that is counted but signatures, which stand for thinking that the API
/// counts by its text.
#[must_use]
pub fn context_tokens(index: &Index, line: super::LineNo) -> Tokens {
    let thinking = index.thinking_of(line).map_or(0, |thinking| thinking.text);
    Tokens(u64::from(index.record(line).tokens) + u64::from(thinking))
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn ratio(tokens: u64, estimate: u64) -> f64 {
    tokens as f64 / estimate as f64
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
