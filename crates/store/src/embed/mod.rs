//! Entries found by what they mean: vectors that a server makes of their texts, and how their ranks and those of words
//! become one.
//!
//! Texts go out only as far as they are asked for, and without their secrets; vectors come back and stay in the archive.
//! `docs/decisions/0025-meaning.md` says which entries get one, and why.

mod fuse;
mod vector;

pub use fuse::fuse;
pub use vector::Vector;

use super::Kind;

/// The kinds of entries that get a vector: what people said, what the model answered, and summaries. What tools gave back
/// is nine tenths of a transcript, and names and errors in it are found by their words.
pub const EMBEDDED: [Kind; 5] = [Kind::Prompt, Kind::Answer, Kind::Batch, Kind::Utterance, Kind::Summary];
