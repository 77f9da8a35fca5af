//! Damage of an archive in a file: found, and mended with what others still have (L-14).

mod check;
mod rebuild;
mod repair;

pub use check::{Damage, DamagedRow, check};
pub use rebuild::{rebuild, restore_statements};
pub use repair::Repair;
