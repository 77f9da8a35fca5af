//! Analysis of text: words, sentences, lines and facts. It knows nothing of transcripts.

mod class;
mod envelope;
mod facts;
mod facts_kept;
mod label;
mod looks;
mod piece;
mod segment;
mod sentence;
mod shape;
mod statement;
mod word_index;
mod words;

pub(crate) use class::tokens;
pub use class::{Classes, HashedMap, classes, gives_verdict, lays_down, pairs, reports_error, vocabulary};
pub use envelope::without_envelopes;
pub use facts::{Carried, Fact, FactKind, facts, quoted};
pub use facts_kept::{FactCount, FactCounts, FactsKept};
pub use label::{is_goal, label, without_label};
pub use piece::{Join, Piece, PieceKind};
pub use segment::segment;
pub(crate) use sentence::floor;
pub use shape::Shape;
pub use statement::{Statement, is_of_moment, replaced, reviewed_file};
pub use words::{Word, fold_hash, words};
