//! What shrinks text. An engine gets a [`Job`] and answers with a [`Reply`]; it knows nothing of transcripts.

mod digest;
mod extract;
#[cfg(test)]
mod scripted;

use crate::text::Tokens;

pub use digest::digest;
pub use extract::Extract;
#[cfg(test)]
pub(crate) use scripted::Scripted;

/// One text to shrink.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The text as its author wrote it.
    pub text: &'a str,
    /// The size to come down to, in `chars4` tokens.
    pub target: Tokens,
}

/// A shrunken text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text that may take the place of the job's.
    pub text: String,
}

/// Why an engine has no reply.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is none, for this reason.
    #[error("{0}")]
    NoReply(String),
}

/// What shrinks text.
pub trait Engine {
    /// The engine's name, as `--engine` takes it.
    fn name(&self) -> &'static str;

    /// Shrinks `job.text` to about `job.target` tokens.
    ///
    /// # Errors
    /// When there is no reply; the caller keeps the text as it was.
    fn shrink(&self, job: &Job<'_>) -> Result<Reply, EngineError>;
}
