//! The engine `chat`: a model behind an OpenAI-compatible server, OpenRouter or any other.
//!
//! [`prompt`] and [`summary_prompt`] make the messages, [`wire`] the request and what the server sends back, [`reply`] takes the text out of
//! what the model wrote, [`client`] asks by way of [`crate::http`]. How often is asked, when, and how many at once is for the
//! runner to decide.

#[cfg(any(test, feature = "fuzzing"))]
mod any;
mod client;
mod dialect;
mod prompt;
mod reply;
mod summary_prompt;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(any(test, feature = "fuzzing"))]
pub use any::reads_any_reply;
pub use client::{Chat, ChatSettings, Models};
