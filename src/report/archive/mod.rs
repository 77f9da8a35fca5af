//! What an archive holds and tells, as data and as text.

mod entry;
mod found;
mod holdings;
mod lineage;
mod operation;
mod snippet;
mod swept;

pub use entry::{Entry, LineEntry, RecordEntry, Shown};
pub use found::{Found, FoundEntry, Meant};
pub use holdings::{Holdings, SizeRow};
pub use lineage::Log;
pub use operation::{OperationEntry, OperationRow};
pub(super) use snippet::{snippet, snippet_of};
pub use swept::Swept;
