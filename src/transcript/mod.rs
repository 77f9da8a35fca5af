//! What is in a transcript, without loss.

mod calibration;
mod chain;
pub mod edit;
pub mod entry;
pub mod foreign;
mod group;
mod image;
mod index;
mod line_set;
mod lines;
mod measure;
mod preserved;
mod prompt;
mod random;
mod record;
mod revisit;
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
pub use lines::{Fingerprint, Fingerprinter, LineReader};
pub use measure::{Part, measure};
pub use preserved::PreservedSegment;
pub use prompt::Prompt;
pub use random::read_line;
pub use record::{Flags, IdHash, LineNo, MessageIdx, Parent, Record, SessionAt};
pub use revisit::revisit;
pub use span::Span;
pub use turn::{Turn, TurnIdx, turns};
pub use usage::{Usage, each_count};
