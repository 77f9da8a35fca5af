//! Messages as they leave the machine to be folded: without their secrets, with a key for what comes back, and with what
//! the call may cost.

use super::cache::{Cache, key_of_fold};
use super::fold::Folding;
use super::spent::Spent;
use crate::redact::{ForeignPlaceholder, Redacted, Redactor};
use crate::{CostRange, Engine, Fold, Inquiry, Price, Said, Usd};
use ctxc_store::ArchiveError;
use ctxc_transcript::text::{Digest, Tokens, chars4};

/// The price of a model, where it is known.
pub type PriceOf<'a> = &'a dyn Fn(&str) -> Option<Price>;

/// Redaction, cache and prices for messages that leave the machine; by default none.
#[derive(Default)]
pub struct Precautions<'a, 'c> {
    /// Puts placeholders in the place of secrets.
    pub redactor: Option<&'a mut Redactor>,
    /// Holds what was paid for.
    pub cache: Option<&'a mut Cache<'c>>,
    /// The price of a model, where it is known.
    pub price: Option<PriceOf<'a>>,
}

/// One summary that was asked for, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The model.
    pub model: String,
    /// Tokens of the messages and the summary so far.
    pub size: Tokens,
    /// Whether it was there already.
    pub is_cached: bool,
    /// What one call for it is expected to cost; `None` where the price is not known.
    pub expected: Option<CostRange>,
    /// The calls that it took.
    pub spent: Spent,
}

/// Messages and a summary so far as they leave.
pub(super) struct Leaving {
    existing: String,
    messages: Vec<Said>,
    /// What stands for the secrets of all of them, where they were replaced.
    given: Option<Redacted>,
}

/// The question that they are.
pub(super) struct FoldQuestion {
    pub(super) inquiry: Inquiry,
    pub(super) key: Digest,
    pub(super) price: Option<Price>,
    /// What a call for it may cost at most.
    pub(super) most: Usd,
}

impl Precautions<'_, '_> {
    /// Learns the secrets of all texts, for what one of them shows to be one is one everywhere.
    pub(super) fn learn(&mut self, chunks: &[Vec<Said>], existing: &str) {
        let Some(redactor) = &mut self.redactor else { return };
        redactor.learn(existing);
        chunks.iter().flatten().for_each(|said| redactor.learn(&said.text));
    }

    /// `messages` and the summary so far as they leave.
    pub(super) fn leave(&mut self, messages: &[Said], existing: &str) -> Leaving {
        let Some(redactor) = &mut self.redactor else {
            return Leaving { existing: existing.to_owned(), messages: messages.to_vec(), given: None };
        };
        let mut given = redactor.redact(existing);
        let existing = given.text.clone();
        let messages = messages.iter().map(|said| {
            let redacted = redactor.redact(&said.text);
            given.give(&redacted);
            Said { speaker: said.speaker.clone(), text: redacted.text }
        });
        Leaving { existing, messages: messages.collect(), given: Some(given) }
    }

    fn price(&self, model: &str) -> Option<Price> {
        self.price.and_then(|price| price(model))
    }

    /// The question that `fold` is; `None` where the engine calls nobody.
    pub(super) fn question(&self, engine: &dyn Engine, fold: &Fold<'_>) -> Option<FoldQuestion> {
        let inquiry = engine.fold_inquiry(fold, 1)?;
        let price = self.price(&inquiry.model);
        // A later attempt may have a longer reply.
        let last = engine.fold_inquiry(fold, u32::MAX);
        let most = price.zip(last).map_or(Usd::ZERO, |(price, last)| price.most(&last.call));
        Some(FoldQuestion { key: key_of_fold(engine.name(), &inquiry, fold), inquiry, price, most })
    }

    /// The reply with this key, where it is there.
    pub(super) fn find(&self, key: Digest) -> Result<Option<String>, ArchiveError> {
        self.cache.as_ref().map_or(Ok(None), |cache| cache.find(key))
    }

    /// Notes a reply, and makes it durable at once: a run may be killed at any moment.
    pub(super) fn put(&mut self, question: &FoldQuestion, text: &str) -> Result<(), ArchiveError> {
        let Some(cache) = &mut self.cache else { return Ok(()) };
        cache.put_reply(question.key, &question.inquiry, text).and_then(|()| cache.commit())
    }
}

impl Leaving {
    /// What is asked of an engine.
    pub(super) fn fold<'a>(&'a self, folding: &Folding<'a>) -> Fold<'a> {
        let Folding { limit, persona, prompt, prompts, .. } = *folding;
        Fold { existing: &self.existing, messages: &self.messages, limit, persona, prompts, prompt }
    }

    /// The tokens of all that leaves.
    pub(super) fn size(&self) -> Tokens {
        chars4(&self.existing) + self.messages.iter().map(|said| chars4(&said.text)).sum()
    }

    /// `reply` with the secrets in the place of their placeholders.
    pub(super) fn restore(&self, reply: &str) -> Result<String, ForeignPlaceholder> {
        match &self.given {
            Some(given) => given.restore(reply).map(|restored| restored.text),
            None => Ok(reply.to_owned()),
        }
    }

    /// All that it says: the summary so far and the messages.
    pub(super) fn whole(&self) -> String {
        let messages = self.messages.iter().map(|said| said.text.as_str());
        std::iter::once(self.existing.as_str()).chain(messages).collect::<Vec<_>>().join("\n")
    }

    /// Whether `line` stands in it.
    pub(super) fn holds(&self, line: &str) -> bool {
        self.existing.contains(line) || self.messages.iter().any(|said| said.text.contains(line))
    }
}

/// What folding `chunks` would ask for, each call made once, and how many different secrets would be replaced. What a
/// chunk is folded into is not known before the one before it has its summary: it is taken to be between nothing and all
/// that it may be.
///
/// # Errors
/// When the cache cannot be read.
pub fn expect_folds(
    chunks: &[Vec<Said>],
    existing: &str,
    folding: &Folding<'_>,
    precautions: &mut Precautions<'_, '_>,
) -> Result<(Vec<Asked>, usize), ArchiveError> {
    precautions.learn(chunks, existing);
    let filler = "x".repeat(usize::try_from(folding.limit.0.saturating_mul(4)).unwrap_or(usize::MAX).min(1 << 20));
    let mut so_far = Some(existing.to_owned());
    let mut asked = Vec::new();
    for messages in chunks.iter().filter(|messages| super::fold::says_something(messages)) {
        let leaving = precautions.leave(messages, so_far.as_deref().unwrap_or_default());
        let fold = leaving.fold(folding);
        let Some(least) = precautions.question(folding.engine, &fold) else { continue };
        let known = so_far.as_deref().map(|_| precautions.find(least.key)).transpose()?.flatten();
        let most = match so_far {
            Some(_) => folding.engine.fold_inquiry(&fold, 1),
            None => folding.engine.fold_inquiry(&Fold { existing: &filler, ..fold }, 1),
        };
        let expected = least.price.zip(most).map(|(price, most)| CostRange {
            low: price.expect(&least.inquiry.call).low,
            high: price.expect(&most.call).high,
        });
        asked.push(Asked {
            model: least.inquiry.model,
            size: leaving.size(),
            is_cached: known.is_some(),
            expected,
            spent: Spent::default(),
        });
        so_far = known.and_then(|reply| leaving.restore(&reply).ok()).map(|text| crate::cut(&text, folding.limit));
    }
    let n_secrets = precautions.redactor.as_ref().map_or(0, |redactor| redactor.n_secrets());
    Ok((asked, n_secrets))
}
