//! Why an engine has no reply.

use std::time::Duration;

use super::Usage;
use crate::run::Kept;

/// Why an engine has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// What kind of failure it is, by which the caller goes on.
    pub fault: Fault,
    /// What happened, for a person: a sentence without a full stop.
    pub message: String,
    /// What a person can do about it, where that is known.
    pub remedy: Option<Remedy>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
    /// What the failed call took all the same, where that was said.
    pub usage: Option<Usage>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The network or the server has trouble, which may be over soon.
    Trouble,
    /// The server turned the call away, for there are too many.
    Limited,
    /// The connection broke after the request was sent; the server may count the call.
    Broken,
    /// There was no reply in time; the server may count the call.
    Timeout,
    /// There was a reply, and it cannot be used; the next may be better.
    BadReply,
    /// The reply was blank; the next may not be.
    Blank,
    /// There was a reply, and it is poor: asked for once more with the reason, it may be better (K-06).
    Poor(Kept),
    /// The reply was poor twice.
    PoorTwice(Kept),
    /// This text will not get a reply, however often it is asked for.
    Permanent,
    /// No text will get one: the key, the credit or the address is wrong.
    Fatal,
}

/// The setting that a person can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The key.
    Key,
    /// The credit that is left.
    Credit,
    /// What the key is allowed.
    Permission,
    /// The name of the model.
    Model,
    /// The address of the server, and whether it runs.
    Address,
    /// The proxy on the way.
    Proxy,
    /// How many calls there are.
    Rate,
    /// How long a reply may take.
    Patience,
}

impl EngineError {
    /// A failure of this kind.
    #[must_use]
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), remedy: None, retry_after: None, usage: None }
    }

    /// The failure to reply within `limit`.
    #[must_use]
    pub fn timeout(limit: Duration) -> Self {
        let error = Self::new(Fault::Timeout, format!("no reply within {} s", limit.as_secs_f64()));
        Self { remedy: Some(Remedy::Patience), ..error }
    }
}
