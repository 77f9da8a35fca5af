//! Strings and bytes. This layer knows nothing of transcripts.

mod digest;
mod tokens;

pub use digest::Digest;
pub use tokens::{Tokens, chars4};
