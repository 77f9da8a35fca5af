//! The results of archive commands, as data and as text.

mod entry;
mod found;
mod holdings;
mod lineage;
mod operation;
mod snippet;
mod swept;

pub(crate) use entry::{Entry, LineEntry, RecordEntry, ShownEntry};
pub(crate) use found::{FoundEntries, FoundEntry, MeaningReport};
pub(crate) use holdings::{Holdings, SizeRow};
pub(crate) use lineage::Log;
pub(crate) use operation::{OperationEntry, OperationRow};
pub(super) use snippet::{match_snippet, snippet_of};
pub(crate) use swept::Swept;
