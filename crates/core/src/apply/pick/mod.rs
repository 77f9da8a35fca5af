//! Picking: a session of chosen messages, from one session or several (J-04).

pub(in crate::apply) mod copies;
pub(in crate::apply) mod edits;
pub(in crate::apply) mod kept;
