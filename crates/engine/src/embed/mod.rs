//! Vectors of texts, from a server.

mod client;
mod missing;

pub use client::{EmbedError, Embedded, Embedder, EmbeddingServer};
pub use missing::{MissingError, Sent, embed_missing, embed_query, prepared, sendable};
