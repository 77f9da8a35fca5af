//! What is in a transcript, without loss.

pub mod scan;
mod span;

pub use span::Span;
