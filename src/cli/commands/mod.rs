//! One file for each verb: what it needs, and what it does.

pub(crate) mod check;
pub(crate) mod compress;
pub(crate) mod config;
pub(crate) mod restore;
pub(crate) mod stats;
pub(crate) mod truncate;
