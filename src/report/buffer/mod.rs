//! What buffers hold and tell, as data and as text.

mod deleted;
mod fill;
mod list;
mod pushed;
mod summary;
mod utterances;

pub use deleted::DeleteReport;
pub use fill::{Fill, FillReport};
pub use list::Buffers;
pub use pushed::PushReport;
pub use summary::SummaryReport;
pub use utterances::Utterances;
