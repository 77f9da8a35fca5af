//! A request as it leaves the machine, and what is known of it before it is asked.

use super::spent::Spent;
use crate::redact::{ForeignPlaceholder, Redacted, Restored};
use crate::{CostRange, Inquiry, Price, Request, Usd};
use ctxc_transcript::text::{Digest, Tokens};

/// A request as it leaves the machine.
pub(super) struct Question<'a> {
    /// The request with its secrets.
    pub(super) given: Request<'a>,
    /// The request as it leaves.
    pub(super) sent: Request<'a>,
    /// What its placeholders stand for, where secrets were replaced.
    pub(super) secrets: Option<Redacted>,
    /// The call that it would be; `None` where the engine calls nobody.
    pub(super) call: Option<Planned>,
    /// The reply, where it was paid for before.
    pub(super) cached: Option<String>,
}

/// A call that a request would be.
pub(super) struct Planned {
    pub(super) inquiry: Inquiry,
    /// Under which its reply is cached.
    pub(super) key: Digest,
    /// The price of its model, where it is known.
    pub(super) price: Option<Price>,
    /// What it may cost at most.
    pub(super) most: Usd,
}

/// One request that was made, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The model.
    pub model: String,
    /// Tokens of its texts.
    pub size: Tokens,
    /// Whether the reply was there already.
    pub is_cached: bool,
    /// What one call for it is expected to cost; `None` where the price is not known.
    pub expected: Option<CostRange>,
    /// The calls that it took.
    pub spent: Spent,
}

impl Question<'_> {
    /// The request as it would be made; `None` where the engine calls nobody.
    pub(super) fn asked(&self) -> Option<Asked> {
        let Planned { inquiry, price, .. } = self.call.as_ref()?;
        Some(Asked {
            model: inquiry.model.clone(),
            size: self.sent.size(),
            is_cached: self.cached.is_some(),
            expected: price.map(|price| price.expect(&inquiry.call)),
            spent: Spent::default(),
        })
    }

    /// `reply` with the secrets in the place of their placeholders.
    pub(super) fn restore(&self, reply: &str) -> Result<Restored, ForeignPlaceholder> {
        match &self.secrets {
            Some(secrets) => secrets.restore(reply),
            None => Ok(Restored { text: reply.to_owned(), lost: Vec::new() }),
        }
    }
}
