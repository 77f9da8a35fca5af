//! What is in a transcript, without loss.

mod image;
mod index;
mod lines;
mod measure;
mod prompt;
mod record;
pub mod scan;
mod span;
mod usage;

pub use index::{Index, Pointer, Thinking, ToolEnd, Tools};
pub use lines::{Fingerprint, LineReader};
pub use measure::{Part, measure};
pub use prompt::Prompt;
pub use record::{Flags, IdHash, LineNo, MessageIdx, Parent, Record, SessionAt};
pub use span::Span;
pub use usage::{Usage, each_count};
