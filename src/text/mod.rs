//! Strings and bytes. This layer knows nothing of transcripts.

mod digest;
pub mod json_string;
mod tokens;

pub use digest::Digest;
pub use tokens::{Tokens, chars4};
