//! Servers in the way of OpenAI: where they are, what a key is, how they are asked, and what a failure means. How often is
//! asked, and how many at once, is for the callers to decide.

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod key;
pub(crate) mod refusal;
mod retry_after;

pub use endpoint::{Endpoint, NotAnEndpoint};
pub use key::{Key, NotAKey};
