//! How many tokens of the API one `chars4` token is in this transcript.

use super::{Chain, ChainEnd, Index};
use crate::text::Tokens;

/// The factor where a file has no usage to learn from (requirements, "Words").
const DEFAULT_FACTOR: f64 = 1.5;
/// The bounds of the factor (ibid.).
const FACTORS: (f64, f64) = (0.5, 3.0);

/// What turns a `chars4` estimate into one that can be held against a context window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Tokens of the API for one `chars4` token: the median over the steps of this file.
    pub factor: f64,
    /// Tokens before the first message: the system prompt and the tools.
    pub overhead: Tokens,
    /// From how many steps the factor was learnt; none for the default.
    pub n_steps: usize,
}

impl Calibration {
    /// Plain `chars4`, nothing learnt.
    pub const CHARS4: Self = Self { factor: 1.0, overhead: Tokens::ZERO, n_steps: 0 };

    /// Learns from the usage that the client recorded along `chain`.
    #[must_use]
    pub fn learn(index: &Index, chain: &Chain) -> Self {
        let mut ratios: Vec<f64> = Vec::new();
        let mut first: Option<(u64, u64)> = None;
        let mut last: Option<(u64, u64)> = None;
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
                }
            }
            seen += context_tokens(index, line).0;
        }
        let n_steps = ratios.len();
        let factor = median(ratios).map_or(DEFAULT_FACTOR, |median| median.clamp(FACTORS.0, FACTORS.1));
        let mut calibration = Self { factor, overhead: Tokens::ZERO, n_steps };
        // Without the head of the conversation what stood before the first message is not known.
        let is_cut_off = matches!(chain.end, ChainEnd::MissingParent(_) | ChainEnd::Cycle(_));
        if let Some((prompt, seen)) = first.filter(|_| !is_cut_off) {
            calibration.overhead = Tokens(prompt).saturating_sub(calibration.scale(Tokens(seen)));
        }
        calibration
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
