//! What shrinks text. An engine gets a [`Request`] and answers with a [`Reply`]; it knows nothing of transcripts.

mod budget;
pub mod chat;
mod cut;
mod digest;
pub mod embed;
mod error;
mod extract;
pub mod http;
pub mod language;
pub mod needs;
mod outcome;
mod pattern;
mod price;
pub mod redact;
mod request;
pub mod run;
#[cfg(any(test, feature = "testing"))]
mod scripted;
mod usd;

use std::pin::Pin;

use ctxc_transcript::text::Tokens;

pub use cut::cut;
pub use digest::{digest, digest_of_result};
pub use error::{EngineError, Fault, Remedy};
pub use extract::Extract;
pub use price::{Call, CostRange, NotAPrice, Price, Prices, UnknownPrice};
pub use request::{Attempt, Origin, Prompts, Request, Said, Shorten, Summarize};
#[cfg(any(test, feature = "testing"))]
pub use scripted::Scripted;
pub use usd::{NotUsd, Usd};

/// What an engine wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The shorter text, or the summary.
    pub text: String,
    /// What it took, where that was said.
    pub usage: Option<Usage>,
}

/// The tokens of a call, as the server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request, as the model counts them.
    pub input: Tokens,
    /// Tokens of the reply.
    pub output: Tokens,
    /// The cost, where the server names it.
    pub cost: Option<Usd>,
}

/// A request as it goes to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// The model that would be asked.
    pub model: String,
    /// The version of what it would be told beside the text.
    pub prompt: &'static str,
    /// The size of the call.
    pub call: Call,
}

/// A reply that may take its time.
pub type Replying<'a> = Pin<Box<dyn Future<Output = Result<Reply, EngineError>> + 'a>>;

/// An engine that shortens and summarizes.
pub trait Engine {
    /// The engine's name, as `--engine` takes it.
    fn name(&self) -> &'static str;

    /// Answers `request`. Dropping the future cancels what it does.
    ///
    /// # Errors
    /// When there is no reply; the caller keeps the texts as they were.
    fn reply<'a>(&'a self, request: &'a Request<'a>, attempt: Attempt) -> Replying<'a>;

    /// The call that `request` would be; `None` where an engine calls nobody.
    fn inquiry(&self, request: &Request<'_>, attempt: Attempt) -> Option<Inquiry> {
        let _ = (request, attempt);
        None
    }
}
