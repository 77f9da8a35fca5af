//! What shrinks text. An engine gets an [`Ask`] and answers with a [`Reply`]; it knows nothing of transcripts.

mod budget;
pub mod chat;
mod cut;
mod digest;
pub mod embed;
mod error;
mod extract;
mod fold;
pub mod http;
pub mod language;
mod outcome;
mod price;
pub mod redact;
pub mod run;
#[cfg(any(test, feature = "testing"))]
mod scripted;
mod usd;

use std::pin::Pin;

use ctxc_transcript::text::Tokens;

pub use budget::{Budget, OverBudget, Reservation};
pub use cut::cut;
pub use digest::digest;
pub use error::{EngineError, Fault, Remedy};
pub use extract::Extract;
pub use fold::{Fold, Prompts, Said};
pub use price::{Call, CostRange, NotAPrice, Price, Prices, UnknownPrice};
#[cfg(any(test, feature = "testing"))]
pub use scripted::Scripted;
pub use usd::{NotUsd, Usd};

/// One text to shrink.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The text as its author wrote it.
    pub text: &'a str,
    /// The size to come down to, in `chars4` tokens.
    pub target: Tokens,
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A person or a model wrote it.
    #[default]
    Message,
    /// A tool gave it back.
    Tool,
}

/// A job as an engine is asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The job.
    pub job: Job<'a>,
    /// Where its text comes from.
    pub origin: Origin,
    /// How many times the engine has been asked for it, this one included.
    pub attempt: u32,
    /// Why the last reply was refused, where it was.
    pub refused: Option<run::Kept>,
}

/// A shrunken text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text that may take the place of the job's.
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

/// A job as a request to a server.
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

/// An engine that shrinks text.
pub trait Engine {
    /// The engine's name, as `--engine` takes it.
    fn name(&self) -> &'static str;

    /// Shrinks the text of `ask.job` to about its target. Dropping the future cancels what it does.
    ///
    /// # Errors
    /// When there is no reply; the caller keeps the text as it was.
    fn shrink<'a>(&'a self, ask: Ask<'a>) -> Replying<'a>;

    /// Folds the messages of `fold` into one summary; `attempt` says how many times it has been asked for, this one
    /// included. Dropping the future cancels what it does.
    ///
    /// # Errors
    /// When there is no summary.
    fn fold<'a>(&'a self, fold: Fold<'a>, attempt: u32) -> Replying<'a>;

    /// The call that `ask` would be; `None` where an engine calls nobody.
    fn inquiry(&self, ask: &Ask<'_>) -> Option<Inquiry> {
        let _ = ask;
        None
    }

    /// The call that `fold` would be when it is asked for the `attempt`-th time; `None` where an engine calls nobody.
    fn fold_inquiry(&self, fold: &Fold<'_>, attempt: u32) -> Option<Inquiry> {
        let _ = (fold, attempt);
        None
    }
}
