//! What is in a transcript, without loss, and where transcripts are.

pub mod foreign;
pub mod session;
