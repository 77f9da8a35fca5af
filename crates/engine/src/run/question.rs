//! A request as it is sent, with its planned call and cached reply.

use super::spent::Spent;
use crate::redact::{ForeignPlaceholder, Redacted, Restored};
use crate::{CostRange, Inquiry, Price, Request, Usd};
use ctxc_transcript::text::{Digest, Tokens};

/// A request with its redacted form and planned call.
pub(super) struct Question<'a> {
    /// The request with its secrets.
    pub(super) given: Request<'a>,
    /// The request as it is sent.
    pub(super) sent: Request<'a>,
    /// The secrets of its placeholders, if redaction is on.
    pub(super) secrets: Option<Redacted>,
    /// The call that it would make; `None` if the engine makes no calls.
    pub(super) call: Option<Planned>,
    /// The cached reply.
    pub(super) cached: Option<String>,
}

/// The call that a request would make.
pub(super) struct Planned {
    pub(super) inquiry: Inquiry,
    /// The key of its reply in the cache.
    pub(super) key: Digest,
    /// The price of its model, if known.
    pub(super) price: Option<Price>,
    /// Its maximum cost.
    pub(super) most: Usd,
}

/// A request that was or would be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The model.
    pub model: String,
    /// The size of its texts, in `chars4` tokens.
    pub size: Tokens,
    /// Whether the reply was cached.
    pub is_cached: bool,
    /// The expected cost of one call; `None` if the price is unknown.
    pub expected: Option<CostRange>,
    /// The usage of its calls so far.
    pub spent: Spent,
}

impl Question<'_> {
    /// The planned request; `None` if the engine makes no calls.
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

    /// `reply` with its placeholders replaced by the secrets.
    pub(super) fn restore(&self, reply: &str) -> Result<Restored, ForeignPlaceholder> {
        match &self.secrets {
            Some(secrets) => secrets.restore(reply),
            None => Ok(Restored { text: reply.to_owned(), lost: Vec::new() }),
        }
    }
}
