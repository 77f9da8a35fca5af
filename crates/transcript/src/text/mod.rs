//! Strings and bytes. This layer knows nothing of transcripts.

mod brief;
mod digest;
mod grouped;
mod ideograph;
mod json_digest;
pub mod json_string;
mod path;
mod pattern;
mod printable;
pub(crate) mod simd;
mod stop;
mod tokens;

pub use brief::{clipped, on_one_line, without_colors};
pub use digest::Digest;
pub use grouped::grouped;
pub use ideograph::is_ideograph;
pub use json_digest::json_digest;
pub use path::{is_rooted, resolve, within};
pub use pattern::{NotAPattern, Pattern, Patterns};
pub use printable::{printable, without_controls};
pub use stop::Stopped;
pub use tokens::{Tokens, chars4};
