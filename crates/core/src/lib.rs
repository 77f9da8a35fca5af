//! The operations on a session: plans, edits, checks and versions, without a terminal.

pub mod apply;
pub mod plan;
pub mod version;
