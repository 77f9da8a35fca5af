//! Strings and bytes. This layer knows nothing of transcripts.

pub(crate) mod checksum;
mod digest;
pub mod json_string;
pub(crate) mod simd;
mod tokens;

pub use digest::Digest;
pub use tokens::{Tokens, chars4};
