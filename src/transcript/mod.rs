//! What is in a transcript, without loss.

mod calibration;
mod chain;
pub mod foreign;
mod group;
mod image;
mod index;
mod line_set;
mod lines;
mod measure;
mod preserved;
mod prompt;
mod record;
pub mod scan;
pub mod session;
mod span;
mod turn;
mod usage;

pub use calibration::{Calibration, context_tokens};
pub use chain::{Chain, ChainEnd};
pub use group::{GroupIdx, Groups};
pub use index::{Index, Pointer, Thinking, ToolEnd, Tools};
pub use line_set::LineSet;
pub use lines::{Fingerprint, LineReader};
pub use measure::{Part, measure};
pub use preserved::PreservedSegment;
pub use prompt::Prompt;
pub use record::{Flags, IdHash, LineNo, MessageIdx, Parent, Record, SessionAt};
pub use span::Span;
pub use turn::{Turn, TurnIdx, turns};
pub use usage::{Usage, each_count};
