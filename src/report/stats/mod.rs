//! What takes the room in a transcript (U-05): counted by [`Stats::count`], told as text or as JSON.

mod count;
mod second_pass;
mod summary;
mod tables;
mod turn;

pub use count::{ContextSize, Counts, Measured, PartRow, Problems, RoleRow, Size, Start, Stats, ToolRow, Totals};
pub use turn::TurnRow;
