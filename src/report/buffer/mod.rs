//! The results of buffer commands, as data and as text.

mod deleted;
mod fill;
mod list;
mod pushed;
mod summary;
mod utterances;

pub(crate) use deleted::DeleteReport;
pub(crate) use fill::{Fill, FillReport};
pub(crate) use list::Buffers;
pub(crate) use pushed::PushReport;
pub(crate) use summary::SummaryReport;
pub(crate) use utterances::Utterances;
