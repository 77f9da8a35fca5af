//! Detection of damage in an archive file, and its repair from other sources (L-14).

mod check;
mod rebuild;
mod repair;

pub use check::{Damage, DamagedRow, check};
pub use rebuild::{rebuild, restore_statements};
pub use repair::Repair;
