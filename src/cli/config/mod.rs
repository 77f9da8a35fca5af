//! The configuration: `ctxc.toml` of the project and of the user, and environment variables (U-04).

mod client;
mod embeddings;
mod key;
mod layer;
mod pairs;
mod summarization;
mod values;

pub(super) use key::is_variable;
pub(super) use layer::{ConfigLayer, SET, Source};
pub(super) use summarization::LEAST_TOKENS as LEAST_SUMMARY_TOKENS;
pub(super) use values::{Config, ConfigRow, keep_careful};
