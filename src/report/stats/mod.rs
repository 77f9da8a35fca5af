//! What takes the room in a transcript (U-05): counted by [`Stats::count`], told as text or as JSON.

mod band;
mod count;
mod estimates;
mod second_pass;
mod summary;
mod tables;
mod turn;

pub(crate) use band::BandRow;
pub(crate) use count::{ContextSize, Counts, Measured, PartRow, Problems, RoleRow, Size, Start, Stats, ToolRow};
pub(crate) use estimates::Estimates;
pub(crate) use tables::Figures;
pub(crate) use turn::TurnRow;
