//! Search by meaning: vectors of entries, and the fusion of their ranking with that of words.
//!
//! `docs/decisions/0025-meaning.md` explains which entries get a vector.

mod fuse;
mod vector;

pub use fuse::fuse_rankings;
pub use vector::Vector;

use super::DocumentKind;

/// The kinds of entries that get a vector: messages of people and the model, and summaries. Tool results are nine tenths of
/// a transcript, and names and errors in them are found by their words.
pub const EMBEDDED: [DocumentKind; 5] =
    [DocumentKind::Prompt, DocumentKind::Answer, DocumentKind::Batch, DocumentKind::Utterance, DocumentKind::Summary];
