//! Results as data and as text. This layer renders; it prints nothing and knows no terminal.

pub mod cache;
pub mod check;
pub mod compress;
pub mod facts;
pub mod rewritten;
pub mod size;
pub mod stats;
pub mod table;
pub mod truncate;
