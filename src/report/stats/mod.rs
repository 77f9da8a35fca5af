//! What takes the room in a transcript (U-05): counted by [`Stats::count`], told as text or as JSON.

mod band;
mod count;
mod estimates;
mod second_pass;
mod summary;
mod tables;
mod turn;

pub use band::BandRow;
pub use count::{ContextSize, Counts, Measured, PartRow, Problems, RoleRow, Size, Start, Stats, ToolRow};
pub use estimates::Estimates;
pub use tables::Figures;
pub use turn::TurnRow;
