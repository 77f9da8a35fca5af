//! Strings and bytes. This layer knows nothing of transcripts.

mod brief;
mod class;
mod digest;
mod envelope;
mod facts;
mod facts_kept;
mod grouped;
mod ideograph;
mod json_digest;
pub mod json_string;
mod looks;
mod path;
mod pattern;
mod printable;
mod redact;
mod segment;
mod sentence;
mod shape;
pub(crate) mod simd;
mod stop;
mod tokens;
mod words;

pub use brief::{clipped, on_one_line, without_colors};
pub use class::{Classes, HashedMap, classes, lays_down, pairs, reports_error, vocabulary};
pub use digest::Digest;
pub use envelope::without_envelopes;
pub use facts::{Carried, Fact, FactKind, facts, quoted};
pub use facts_kept::{FactCount, FactCounts, FactsKept};
pub use grouped::grouped;
pub use ideograph::is_ideograph;
pub use json_digest::json_digest;
pub use path::{is_rooted, resolve, within};
pub use pattern::{NotAPattern, Pattern, Patterns};
pub use printable::{printable, without_controls};
#[cfg(any(test, feature = "fuzzing"))]
pub use redact::redacts_any;
pub use redact::{ForeignPlaceholder, Placeholder, Redacted, Redactor, Restored};
pub use segment::{Join, Piece, PieceKind, segment};
pub use shape::Shape;
pub use stop::Stopped;
pub use tokens::{Tokens, chars4};
pub use words::{Word, fold_hash, words};
